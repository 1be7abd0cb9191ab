. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_probe
as_user 65534 test -x "$probe" || skip "the build directory is closed to other users"

# As tutti-shared.service runs them: the daemon and the one server as a user of their own, programs as any user.
mkdir "$work/pipe" "$work/log"
chown 54321 "$work/pipe" "$work/log"
as_user 54321 "$control" -d -M
# Such a daemon sees what programs compute: each user decides whether to trust it.
expect_in "a program that does not trust it" "TUTTI_TRUST_UID=54321" "$(as_user 65534 "$probe" 2>&1 || true)"
export TUTTI_TRUST_UID=54321
expect_in "a program of another user" mps=1 "$(as_user 65534 "$probe")"
expect_in "a program of root" mps=1 "$("$probe")"
server=$(ask get_server_list)
expect "servers" 1 "$(wc -l <<< "$server")"
expect "user of the server" 54321 "$(stat -c %u "/proc/$server")"
