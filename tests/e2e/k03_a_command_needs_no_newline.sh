. "$(dirname "$0")/lib.sh"

"$control" -d
status=0
text=$(printf get_default_active_thread_percentage | "$control") || status=$?
expect "exit status" 0 $status
expect "answer" 100.0 "$text"
expect "the last of several" 40.0 "$(printf 'set_default_active_thread_percentage 40\nget_default_active_thread_percentage' | "$control" | tail -n 1)"
