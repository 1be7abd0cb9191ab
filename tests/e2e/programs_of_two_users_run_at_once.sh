. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_programs
as_user 65534 test -r "$bin/tutti-server" || skip "the build directory is closed to other users"

"$control" -d
for user in 65534 54321; do
  as_user $user "$(program vector_add)" --seconds 1 > "$work/$user" 2>&1 &
  pids+=" $!"
done
two_servers() { [ "$(ask get_server_list | wc -l)" = 2 ]; }
until_true "two servers" two_servers
for pid in $pids; do wait "$pid" || fail "a program failed: $(cat "$work"/65534 "$work"/54321)"; done
ask quit || fail "quit"
