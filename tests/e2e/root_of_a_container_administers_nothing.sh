# Root in a PID namespace of its own shares with the machine's root the pipe directory and user id 0, and nothing else.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for namespaces"
unshare --pid --fork --mount-proc true 2> /dev/null || skip "needs PID namespaces"
use_fakes
inside() { unshare --mount --pid --ipc --net --fork --mount-proc --kill-child "$@"; }
ask_inside() { printf '%s' "$1" | inside "$control"; }

"$control" -d
"$client" --hold > "$work/outside" &
until_true "a client outside" says welcome "$work/outside"
server=$(ask get_server_list)
victim=$(ask "get_client_list $server")
for command in "quit -t 0" "set_default_active_thread_percentage 10" "set_policy time_slice" rotate_logs; do
  expect "$command" "Permission denied: ${command%% *} is for root outside of containers" "$(ask_inside "$command")"
done
for command in "shutdown_server $server -f" "set_active_thread_percentage $server 1" "terminate_client $server $victim"; do
  expect "$command" "Permission denied: server $server belongs to user 0" "$(ask_inside "$command")"
done
! grep -q fake_client <(ask_inside ps) || fail "command lines of programs outside are shown"
! grep -q fake_client <(ask_inside report) || fail "command lines of programs outside are in the report"
expect "default as before" 100.0 "$(ask get_default_active_thread_percentage)"
says closed "$work/outside" && fail "the client was ended"

# It sees its own programs; the machine's root sees all.
both() { "$client" --hold > "$work/inside" & until_true "a client inside" says welcome "$work/inside"; "$control" ps; }
export -f both until_true says
export client control work
expect "its own program in ps" 2 "$(inside bash -c both | wc -l)"
for one in $(ask get_server_list); do [ "$one" = "$server" ] || guests=$one; done
expect "root's rights of the server for root of containers" "0 0000000000000000" \
  "$(awk '/^Uid/ { root = ($2 == 0) } /^CapEff/ { caps = $2 } END { print root + 0, caps }' "/proc/$guests/status")"
[ "$(stat -c %u "/proc/$server")" = 0 ] || fail "the machine's root is served by somebody else"
expect "quit of the machine's root" "" "$(ask 'quit -t 0')"
