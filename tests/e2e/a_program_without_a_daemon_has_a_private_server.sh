. "$(dirname "$0")/lib.sh"
use_programs

"$(program vector_add)" --rounds 3 > "$work/out" 2>&1 || fail "$(cat "$work/out")"
[ ! -e "$CUDA_MPS_PIPE_DIRECTORY" ] || fail "it made a pipe directory"
mine() { for file in /proc/[0-9]*/environ; do grep -qs "CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY" "$file" && dirname "$file"; done; }
servers() { for process in $(mine); do grep -sa tutti-server "$process/cmdline"; done; }
no_server() { [ -z "$(servers)" ]; }
until_true "its server gone" no_server
