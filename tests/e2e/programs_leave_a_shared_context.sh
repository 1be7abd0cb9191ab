# TUTTI_ISOLATION=auto: programs of a user share a context with kernels that check their addresses, and one that loads a
# kernel that cannot be fenced moves to an executor of its own, where it runs.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$bin/tutti-executor" ] || skip "needs tutti-executor"
export TUTTI_DEVICE=cuda TUTTI_VENDOR_LIBCUDA=$bin/../test/vendor_strict/libcuda.so.1 TUTTI_CPU_MEMORY=256M TUTTI_CPU_SMS=2 TUTTI_ISOLATION=auto
cases=$(dirname "$0")/../run/cases
"$control" -d
"$(program matrix_multiply)" --seconds 5 > "$work/neighbour" 2>&1 &
neighbour=$!
listed() { local ps; ps=$(ask ps) && [[ "$ps" == *matrix_multiply* ]]; }
until_true "the neighbour is in ps" listed
log=$CUDA_MPS_LOG_DIRECTORY/server.log
expect_in "the server's log" "until they load others" "$(cat "$log")"

"$fakes/run_test" "$cases/recursion_with_a_depth_per_lane.ptx" > "$work/recursion" 2>&1 || fail "a kernel that calls itself: $(cat "$work/recursion")"
expect_in "the server's log" "has left its executor for another one, of its own" "$(cat "$log")"
wait $neighbour || fail "its neighbour: $(cat "$work/neighbour")"
expect_in "its neighbour" " 0 wrong" "$(cat "$work/neighbour")"
ask 'quit -t 5' || fail "quit"
