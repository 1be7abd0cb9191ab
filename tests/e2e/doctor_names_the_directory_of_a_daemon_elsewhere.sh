. "$(dirname "$0")/lib.sh"
use_doctor
# The kernel lists the sockets of a network namespace: in one of its own the doctor sees those of this test alone.
unshare --net true 2> /dev/null || skip "needs network namespaces"
export TUTTI_STATE_DIR=$work/state

unshare --net bash -euc '"$1" -d; CUDA_MPS_PIPE_DIRECTORY=$3 exec "$2" doctor --service' - "$control" "$tutti" "$work/wrong" > "$work/diagnosis" 2>&1 && fail "no problem"
status=1 diagnosis=$(cat "$work/diagnosis")
expect_problem "no control daemon answers in $work/wrong, but one listens in $work/pipe" "export CUDA_MPS_PIPE_DIRECTORY=$work/pipe"
