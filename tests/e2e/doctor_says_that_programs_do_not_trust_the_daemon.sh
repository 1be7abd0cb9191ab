. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_doctor
as_user 65534 test -x "$bin/tutti" || skip "the build directory is closed to other users"
export TUTTI_STATE_DIR=$work/state TUTTI_CACHE_DIR=$work/cache
mkdir -m 777 "$work/cache" "$work/pipe" "$work/log"
chown 54321 "$work/pipe" "$work/log"

as_user 54321 "$control" -d -M
status=0
diagnosis=$(as_user 65534 "$bin/tutti" doctor 2>&1) || status=$?
expect_problem "the daemon would serve you, but belongs to 54321" "export TUTTI_TRUST_UID=54321"
export TUTTI_TRUST_UID=54321
diagnosis=$(as_user 65534 "$bin/tutti" doctor 2>&1 || true)
[[ "$diagnosis" != *"belongs to 54321"* ]] || fail "a trusted daemon is a problem: $diagnosis"
