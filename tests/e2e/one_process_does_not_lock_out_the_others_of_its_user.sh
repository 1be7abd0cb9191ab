# The process keeps more connections than the daemon accepts in total, and is silent on all.
. "$(dirname "$0")/lib.sh"
use_fakes
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 6000 ] || skip "needs 6000 descriptors"
ulimit -n 6000

"$control" -d
"$client" --silent 5000 > "$work/silent" 2>&1 &
until_true "the connections stand" says holding "$work/silent"
for _ in 1 2 3; do
  expect "another program of that user" welcome "$("$client")"
  expect "a shell of that user" 100.0 "$(ask get_default_active_thread_percentage)"
done
[ "$(ls "/proc/$(daemon_pid)/fd" | wc -l)" -lt 4300 ] || fail "the daemon holds all of them"
says "it has the most" "$CUDA_MPS_LOG_DIRECTORY/control.log" || fail "the log does not say who pays"
