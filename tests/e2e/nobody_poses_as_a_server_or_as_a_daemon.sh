. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_probe
poser=$fakes/fake_client
as_user 54321 test -x "$poser" || skip "the build directory is closed to other users"
export TUTTI_CACHE_DIR=$work/cache
mkdir -m 777 "$work/cache" "$work/theirs"

"$control" -d
hold held as_user 54321 "$probe"
server=$(ask get_server_list)
servers=$CUDA_MPS_PIPE_DIRECTORY/.servers-0
expect "modes" "700 600" "$(stat -c %a "$servers" "$servers/state" | xargs)"
as_user 54321 ls "$servers" > /dev/null 2>&1 && fail "a user may list where servers wait"

# As a daemon: a user cannot reach the socket, and is not answered where it is open, whoever's the server is.
call() { as_user "$1" env CUDA_MPS_PIPE_DIRECTORY="$work/theirs" timeout 20 "$poser" 2>&1; }
ln -s "$servers/1" "$work/theirs/control"
kill -KILL "$(daemon_pid)"
until_true "the server is alone" says "Continuing with 1 clients" "$CUDA_MPS_LOG_DIRECTORY/server.log"
expect_in "a user who calls the server" "Permission denied" "$(call 54321)"
chmod 755 "$servers"
chmod 666 "$servers/1"
for user in 54321 65534; do
  [ "$(call $user)" != welcome ] || fail "the server answers user $user"
done
expect "of whom the server says that they are not the daemon" 2 "$(grep -c "not the daemon's user" "$CUDA_MPS_LOG_DIRECTORY/server.log")"
"$control" -d
expect "servers" "$server" "$(ask get_server_list)"
expect "modes" 700 "$(stat -c %a "$servers")"
has_its_client() { [ "$(ask "get_client_list $server" | wc -l)" = 1 ]; }
until_true "its client" has_its_client

# As a server: another process of its user, in its place.
rm "$work/theirs/control"
CUDA_MPS_PIPE_DIRECTORY=$work/theirs setpriv --reuid 54321 --clear-groups "$poser" --listen > "$work/poser" {hold_fd}>&- &
until_true "it listens" says listening "$work/poser"
kill -KILL "$(daemon_pid)"
mv -f "$work/theirs/control" "$servers/1"
"$control" -d
expect "the server that is followed to its end" "$server" "$(ask get_server_list)"
expect "what the daemon can ask it" "" "$(ask "get_client_list $server" | grep -v "not connected to this daemon")"
expect_in "what is said" "of user 54321 waits in its place" "$(control_log)"
gone "$server" && fail "the server ended, although it has a client"
release held
wait "$holder" || fail "its client: $(cat "$work/held")"
