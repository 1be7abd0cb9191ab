# Older daemons left a lock file that everybody can open, and so lock.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as another user"
use_fakes

mkdir "$CUDA_MPS_PIPE_DIRECTORY"
touch "$CUDA_MPS_PIPE_DIRECTORY/control_lock"
chmod 666 "$CUDA_MPS_PIPE_DIRECTORY/control_lock"
as_user 54321 bash -c 'exec 9<> "$0/control_lock" && flock -n 9 && echo locked && exec sleep 20' "$CUDA_MPS_PIPE_DIRECTORY" > "$work/lock" &
until_true "somebody has the lock" says locked "$work/lock"
"$control" -d 2> "$work/said" || fail "a stranger's lock keeps the daemon from starting: $(cat "$work/said")"
expect_in "what is said" "is locked, but no daemon listens there" "$(cat "$work/said")"
expect "a second daemon is refused all the same" "An instance of this daemon is already running" "$("$control" -d 2> /dev/null || true)"
status=0
as_user 54321 bash -c 'exec 9<> "$0/control_lock"' "$CUDA_MPS_PIPE_DIRECTORY" 2> /dev/null || status=$?
[ $status -ne 0 ] || fail "strangers can open the new lock file"
ask quit
