. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as another user"
use_doctor
as_user 65534 test -x "$bin/tutti" || skip "the build directory is closed to other users"
export TUTTI_STATE_DIR=$work/state TUTTI_CACHE_DIR=$work/cache
mkdir -m 777 "$work/cache"

mkdir -m 700 "$work/closed"
export CUDA_MPS_PIPE_DIRECTORY=$work/closed/pipe
"$control" -d
status=0
diagnosis=$(as_user 65534 "$bin/tutti" doctor 2>&1) || status=$?
expect_problem "Permission denied" "chmod a+x $work/closed"
chmod 755 "$work/closed"
chmod 600 "$work/closed/pipe/control"
status=0
diagnosis=$(as_user 65534 "$bin/tutti" doctor 2>&1) || status=$?
expect_problem "may not use $work/closed/pipe/control" "chmod a+w $work/closed/pipe/control"
