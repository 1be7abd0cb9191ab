# TUTTI_ISOLATION=shared, TUTTI_TRUST=1: programs of a user that trust each other have places in one executor, and run any
# code. One that is killed leaves the others running; the executor's end is the error of those with a kernel under way, and
# the others get right results.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$bin/tutti-executor" ] || skip "needs tutti-executor"
export TUTTI_DEVICE=cuda TUTTI_VENDOR_LIBCUDA=$bin/../test/vendor_strict/libcuda.so.1 TUTTI_CPU_MEMORY=256M TUTTI_CPU_SMS=2

export TUTTI_ISOLATION=shared TUTTI_TRUST=1
"$control" -d
text=$("$(program reduction)" 2>&1) || fail "a program alone: $text"
expect_in "the server's log" "Programs of a user share its contexts" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
expect_in "the report" '"capabilities":["ptx","machine_code","arrays","kernel_time_limits","active_thread_percentages","client_priorities","shared_contexts"]' "$(ask report)"
# The oldest first; one is kept ready.
executors() { pgrep -P "$(pgrep -P "$(ask get_server_list)")" | sort -n; }
"$(program vector_add)" --seconds 20 > "$work/killed" 2>&1 &
killed=$!
disown $killed
"$(program matrix_multiply)" --seconds 6 > "$work/neighbour" 2>&1 &
neighbour=$!
both_listed() { local ps; ps=$(ask ps) && [[ "$ps" == *vector_add* && "$ps" == *matrix_multiply* ]]; }
until_true "the programs are in ps" both_listed
two_executors() { [ "$(executors | wc -l)" = 2 ]; }
until_true "there is one executor for both, and the next one" two_executors
sleep 1
kill -9 $killed
"$(program reduction)" > "$work/next" 2>&1 || fail "who comes to its place: $(cat "$work/next")"
expect_in "who comes to its place" " 0 wrong" "$(cat "$work/next")"
expect "executors" 2 "$(executors | wc -l)"
wait $neighbour || fail "its neighbour: $(cat "$work/neighbour")"
expect_in "its neighbour" " 0 wrong" "$(cat "$work/neighbour")"

declare -A running
for name in vector_add matrix_multiply; do
  "$(program $name)" --seconds 4 > "$work/$name" 2>&1 &
  running[$name]=$!
done
until_true "the next two are in ps" both_listed
until_true "they share one, too" two_executors
sleep 1
# The one in use: it has a thread for each program, and the next one has none yet.
threads() { for pid in $(executors); do echo "$(ls "/proc/$pid/task" | wc -l) $pid"; done; }
kill -9 "$(threads | sort -n | tail -n 1 | cut -d' ' -f2)"
for name in vector_add matrix_multiply; do
  if wait "${running[$name]}"; then
    expect_in "$name" " 0 wrong" "$(cat "$work/$name")"
    expect_in "the server's log" "goes on in another executor" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
  else
    says 'CUDA_ERROR_DEVICE_UNAVAILABLE\|cudaErrorDevicesUnavailable' "$work/$name" || fail "what $name says: $(cat "$work/$name")"
  fi
done
text=$("$(program reduction)" 2>&1) || fail "the next program: $text"
expect_in "the next program" " 0 wrong" "$text"
ask 'quit -t 5' || fail "quit"
