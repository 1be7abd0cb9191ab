. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
first=$(daemon_pid)
status=0
text=$("$control" -d) || status=$?
expect "exit status" 1 $status
expect "text on stdout" "An instance of this daemon is already running" "$text"
expect "daemon in charge" "$first" "$(daemon_pid)"
# The running daemon keeps its options: a start with others says so on stderr, and nothing on stdout, which scripts read.
expect "stderr, where both want the same" "" "$("$control" -d 2>&1 > /dev/null || true)"
expect_in "stderr, where the second wants -M" "(process $first) was started without -M, and stays so" "$("$control" -d -M 2>&1 > /dev/null || true)"
expect "stdout" "An instance of this daemon is already running" "$("$control" -f -M 2> /dev/null || true)"
expect "the first one still answers" 100.0 "$(ask get_default_active_thread_percentage)"
