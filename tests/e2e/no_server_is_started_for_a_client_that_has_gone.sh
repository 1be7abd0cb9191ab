# One that was killed before the daemon heard it. What remains of the process no longer shows where it lived, so root's
# daemon would even start a server for root of containers.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
daemon=$(daemon_pid)
kill -STOP "$daemon"
"$client" --hold > "$work/client" &
dead=$!
disown
# Its hello is in the socket's queue.
waits() { [[ "$(cat "/proc/$dead/wchan")" != 0 ]] && [ "$(awk '{ print $3 }' "/proc/$dead/stat")" = S ]; }
until_true "it has said hello and waits" waits
sleep 0.2
kill -KILL "$dead"
until_true "it has gone" gone "$dead"
kill -CONT "$daemon"
expect "servers" "" "$(ask get_server_list)"
expect "the next client" welcome "$("$client")"
