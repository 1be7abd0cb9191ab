# With a GPU's driver in place of the CPU device: each program has an executor, which holds a context of the driver. Here that
# driver is our own, with a server of its own in each executor. An executor's end is its program's alone,
# which has an error if a kernel was under way, and else gets its results from another one.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$bin/tutti-executor" ] || skip "needs tutti-executor"
export TUTTI_DEVICE=cuda TUTTI_VENDOR_LIBCUDA=$bin/../test/vendor_strict/libcuda.so.1 TUTTI_CPU_MEMORY=1G TUTTI_CPU_SMS=2

"$control" -d
for name in vector_add matrix_multiply reduction mandelbrot histogram n_body; do
  text=$("$(program $name)" 2>&1) || fail "$name: $text"
  expect_in "$name" " 0 wrong" "$text"
done
log=$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")
expect_in "the server's log" "The driver of the GPU is $TUTTI_VENDOR_LIBCUDA" "$log"
expect_in "the server's log" "limits of SM partitions do not hold yet" "$log"
expect_in "the report" '"capabilities":["ptx","machine_code","arrays","kernel_time_limits","active_thread_percentages","client_priorities"]' "$(ask report)"
# What stands in for machine code on the CPU device is left out.
text=$("$bin/tutti" run -- sh -c 'echo "${LD_AUDIT-none} $TUTTI_LIBRARIES ${CUPY_COMPILE_WITH_PTX-none}"')
expect "what tutti run sets" "none vendors none" "$text"
text=$("$bin/tutti" run --libraries=ours -- sh -c 'echo "$TUTTI_LIBRARIES"')
expect "what tutti run is told to set" "ours" "$text"

# Limited to a part of the time, and below normal: it is done nevertheless.
text=$("$bin/tutti" run --threads 10 --priority low -- "$(program reduction)" 2>&1) || fail "a limited program: $text"
expect_in "a limited program" " 0 wrong" "$text"

# The executors, the oldest first: those of the programs, and one that is kept ready.
executors() { pgrep -P "$(pgrep -P "$(ask get_server_list)")" | sort -n; }
"$(program vector_add)" --seconds 6 > "$work/first" 2>&1 &
first=$!
program_listed() { ask ps | grep -q vector_add; }
until_true "the program is in ps" program_listed
victim=$(executors | head -n 1)
"$(program matrix_multiply)" --seconds 6 > "$work/second" 2>&1 &
second=$!
three_executors() { [ "$(executors | wc -l)" = 3 ]; }
until_true "two programs have executors, and the next one" three_executors
sleep 1
kill -9 "$victim"
if wait "$first"; then
  expect_in "the program" " 0 wrong" "$(cat "$work/first")"
  expect_in "the server's log" "goes on in another executor" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
else  # in the words of the driver, or of the runtime
  says 'CUDA_ERROR_DEVICE_UNAVAILABLE\|cudaErrorDevicesUnavailable' "$work/first" || fail "what it says: $(cat "$work/first")"
fi
text=$("$(program reduction)" 2>&1) || fail "the next program: $text"
expect_in "the next program" " 0 wrong" "$text"
wait "$second" || fail "its neighbour: $(cat "$work/second")"
expect_in "its neighbour" " 0 wrong" "$(cat "$work/second")"
ask 'quit -t 5' || fail "quit"
