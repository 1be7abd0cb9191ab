. "$(dirname "$0")/lib.sh"
skip_where_kernels_stay
use_programs

"$control" -d
"$(program n_body)" --seconds 60 > "$work/out" 2>&1 &
pid=$!
one_client() { [ "$(ask ps | wc -l)" = 2 ]; }
until_true "attached" one_client
ask 'quit -t 1' || fail "exit status of quit -t 1"
status=0
wait $pid || status=$?
[ $status -ne 0 ] || fail "the program went on without a server"
# cudaErrorMpsClientTerminated or CUDA_ERROR_MPS_CLIENT_TERMINATED, as the program was built.
expect_in "what the program says" mpsclientterminated "$(tr -d _ < "$work/out" | tr A-Z a-z)"
