. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users in PID namespaces"
unshare --pid --fork true 2> /dev/null || skip "needs PID namespaces"
use_probe
as_user 65534 test -x "$probe" || skip "the build directory is closed to other users"

# Daemon and programs in sibling PID namespaces, as in containers: each program is process 1 of its own.
contained() { unshare --pid --fork --kill-child setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
unshare --pid --fork --kill-child "$control" -f -M > /dev/null 2>&1 &
until_true "the daemon answers" ask get_server_list
declare -A pid
for user in 1111 2222; do
  hold "$user" contained "$user" "$probe"
  pid[$user]=$holder
done
server=$(ask get_server_list)

text=$(ask "terminate_client $server 1")
expect_in "root is told that there are two" "2 clients have the process id 1" "$text"
expect_in "and how to name them" "$server:0 (user 1111), $server:1 (user 2222)" "$text"
expect "a user's own" 0 "$(echo "terminate_client $server 1" | as_user 2222 "$control")"
expect "another's" "Client $server:0 not found on server $server" "$(echo "terminate_client $server $server:0" | as_user 2222 "$control")"
release 2222
wait "${pid[2222]}" && fail "the client that was ended goes on"
release 1111
wait "${pid[1111]}" || fail "the other user's client was ended, too: $(cat "$work/1111")"
expect "the other user's client" "still served" "$(tail -n 1 "$work/1111")"
