# A collective limit holds for all clients of a namespace together; a change takes effect at once.
. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=1G

"$control" -d -p 3
"$control" server create training --uid="$(id -u)" > /dev/null
"$control" namespace create batch --server=training > /dev/null
"$control" namespace set batch --server=training --collective-hard-limit=0=300M
in_batch() { CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/training/batch "$@"; }
hold first in_batch "$probe" --allocate 200
expect_in "within the limit" "allocated 200" "$(cat "$work/first")"
expect "together above it" CUDA_ERROR_OUT_OF_MEMORY "$(in_batch "$probe" --allocate 200 | tail -n 1)"
expect "up to it" "allocated 90" "$(in_batch "$probe" --allocate 90 | tail -n 1)"
expect "a client of another namespace" "allocated 200" "$(CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/training "$probe" --allocate 200 | tail -n 1)"
"$control" namespace set batch --server=training --collective-hard-limit=0=500M
expect "with a higher limit" "allocated 200" "$(in_batch "$probe" --allocate 200 | tail -n 1)"
release first
wait "$holder"
expect "what a program had is free when it has gone" "allocated 450" "$(in_batch "$probe" --allocate 450 | tail -n 1)"

# Beyond its soft limit a namespace borrows until somebody else needs the memory: then the borrower is terminated.
"$control" namespace set batch --server=training --collective-soft-limit=0=100M --collective-hard-limit=0=900M
"$control" namespace set default --server=training --collective-soft-limit=0=600M
hold borrower in_batch "$probe" --allocate 800
expect "another one's due" "allocated 500" "$(CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/training "$probe" --allocate 500 | tail -n 1)"
release borrower
wait "$holder" || true
expect "the borrower" CUDA_ERROR_MPS_CLIENT_TERMINATED "$(tail -n 1 "$work/borrower")"
