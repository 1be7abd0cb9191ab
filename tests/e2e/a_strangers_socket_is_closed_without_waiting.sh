# A TCP socket with SO_LINGER waits when it is closed; whoever gets the last descriptor of one with a message has to close it.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
stranger=
[ "$(id -u)" != 0 ] || stranger="setpriv --reuid 54321 --regid 54321 --clear-groups"  # no function: it is ended with this script
kill -STOP "$(daemon_pid)"  # so that the stranger lets go of it first
$stranger "$client" --linger > "$work/stranger" &
until_true "the stranger's message" grep -q . "$work/stranger"
kill -CONT "$(daemon_pid)"
says "sent\|not taken" "$work/stranger" || skip "$(cat "$work/stranger")"
expect "the daemon answers" 100.0 "$(TUTTI_SHELL_TIMEOUT=5 ask get_default_active_thread_percentage)"
expect "a client is served" welcome "$("$client")"
