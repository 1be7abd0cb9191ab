# A user can stop the server that runs as that user and keep connecting clients: each waits in the daemon with a descriptor.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for two users"
use_fakes
descriptors=256

(ulimit -n $descriptors; "$control" -d)
ask "start_server -uid 54321" > /dev/null
server=$(ask get_server_list)
active() { [ "$(ask "get_server_status $server")" = ACTIVE ]; }
until_true "the server" active
kill -STOP "$server"
as_user 54321 "$client" --hellos 1000 > /dev/null
expect "the daemon answers" 100.0 "$(TUTTI_SHELL_TIMEOUT=5 ask get_default_active_thread_percentage)"
expect "a client of another user is served" welcome "$(timeout 20 "$client")"
expect_in "who waits is told why" "does not take the clients that came before" "$(as_user 54321 timeout 20 "$client" || true)"
