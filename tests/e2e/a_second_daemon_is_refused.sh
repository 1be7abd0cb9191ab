. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
first=$(daemon_pid)
status=0
text=$("$control" -d) || status=$?
expect "exit status" 1 $status
expect "text on stdout" "An instance of this daemon is already running" "$text"
expect "daemon in charge" "$first" "$(daemon_pid)"
expect "the first one still answers" 100.0 "$(ask get_default_active_thread_percentage)"
