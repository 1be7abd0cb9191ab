. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for a disk of its own"
unshare --mount true 2> /dev/null || skip "needs mount namespaces"
use_doctor
export TUTTI_STATE_DIR=$work/state

mkdir "$work/small"
status=0
diagnosis=$(TUTTI_CACHE_DIR=$work/small/cache unshare --mount bash -c 'mount -t tmpfs -o size=64k none "$1" && exec "$2" doctor' - "$work/small" "$tutti" 2>&1) || status=$?
expect_problem "disk full: 64.0 KiB free in $work/small" "TUTTI_CACHE_DIR"
