# close() of a TCP socket with SO_LINGER blocks; a process that receives the last descriptor of one has to close it.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
stranger=
[ "$(id -u)" != 0 ] || stranger="setpriv --reuid 54321 --regid 54321 --clear-groups"  # no function: cleanup kills the program, not a subshell
kill -STOP "$(daemon_pid)"  # so that the stranger closes it first
$stranger "$client" --linger > "$work/stranger" &
until_true "the stranger's message" grep -q . "$work/stranger"
kill -CONT "$(daemon_pid)"
says "sent\|not taken" "$work/stranger" || skip "$(cat "$work/stranger")"
expect "the daemon answers" 100.0 "$(TUTTI_SHELL_TIMEOUT=5 ask get_default_active_thread_percentage)"
expect "a client is served" welcome "$("$client")"
