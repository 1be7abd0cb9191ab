# TUTTI_ISOLATION=shared: programs of a user have places in one executor, and their kernels check their addresses. One that
# touches what is not its own has its error, one that cannot be fenced is refused with the remedy, and the one beside them
# goes on in the same context.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$bin/tutti-executor" ] || skip "needs tutti-executor"
export TUTTI_DEVICE=cuda TUTTI_VENDOR_LIBCUDA=$bin/../test/vendor_strict/libcuda.so.1 TUTTI_CPU_MEMORY=256M TUTTI_CPU_SMS=2 TUTTI_ISOLATION=shared
cases=$(dirname "$0")/../run/cases
"$control" -d
"$(program matrix_multiply)" --seconds 8 > "$work/neighbour" 2>&1 &
neighbour=$!
listed() { local ps; ps=$(ask ps) && [[ "$ps" == *matrix_multiply* ]]; }
until_true "the neighbour is in ps" listed
expect_in "the report" '"capabilities":["ptx","kernel_time_limits","active_thread_percentages","client_priorities","shared_contexts","fenced_kernels"]' "$(ask report)"
# Machine code cannot be fenced: libraries that hold it have stand-ins, as on the CPU device.
text=$("$bin/tutti" run -- sh -c 'echo "$TUTTI_LIBRARIES"')
expect "what tutti run sets" "ours" "$text"
expect_in "the server's log" "their kernels are made from PTX" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"

"$fakes/run_test" "$cases/wild_address_is_an_illegal_address.ptx" > /dev/null || fail "the fault was not as expected"
table=$("$bin/tutti" faults)
for part in CUDA_ERROR_ILLEGAL_ADDRESS run_test "in kernel k" "thread (" "PTX line" 0x; do expect_in "tutti faults" "$part" "$table"; done

"$fakes/run_test" "$cases/printf_in_thread_order.ptx" > "$work/prints" 2>&1 || fail "a kernel that prints: $(cat "$work/prints")"
! "$fakes/run_test" "$cases/recursion_with_a_depth_per_lane.ptx" > "$work/refused" 2>&1 || fail "a kernel that calls itself is launched"
expect_in "why not" "cannot be fenced; on a server with TUTTI_ISOLATION=process" "$(cat "$work/refused")"

"$(program reduction)" > "$work/next" 2>&1 || fail "who comes to its place: $(cat "$work/next")"
expect_in "who comes to its place" " 0 wrong" "$(cat "$work/next")"
wait $neighbour || fail "its neighbour: $(cat "$work/neighbour")"
expect_in "its neighbour" " 0 wrong" "$(cat "$work/neighbour")"
ask 'quit -t 5' || fail "quit"
