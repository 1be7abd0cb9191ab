. "$(dirname "$0")/lib.sh"
use_programs

"$control" -d --servers-die
"$(program vector_add)" --seconds 60 > "$work/out" 2>&1 &
pid=$!
one_client() { [ "$(ask ps | wc -l)" = 2 ]; }
until_true "attached" one_client
sleep 0.3
kill -KILL "$(daemon_pid)"
status=0
wait $pid || status=$?
[ $status -ne 0 ] || fail "the program went on without a server"
# cudaErrorMpsRpcFailure or CUDA_ERROR_MPS_RPC_FAILURE, as the program was built.
expect_in "what the program says" mpsrpcfailure "$(tr -d _ < "$work/out" | tr A-Z a-z)"
