. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as another user"
use_fakes
bob() { as_user 54321 "$@"; }
mkdir -m 1777 "$work/tmp"
echo precious > "$work/precious"
chmod 600 "$work/precious"
untouched() { expect "root's file" "precious 600" "$(cat "$work/precious") $(stat -c %a "$work/precious")"; }

# Bob was here first.
bob mkdir "$work/tmp/pipe" "$work/tmp/log"
for file in control control_privileged control_lock log nvidia-cuda-mps-control.pid; do bob ln -s "$work/precious" "$work/tmp/pipe/$file"; done
for file in control.log server.log; do bob ln -s "$work/precious" "$work/tmp/log/$file"; done
export CUDA_MPS_PIPE_DIRECTORY=$work/tmp/pipe CUDA_MPS_LOG_DIRECTORY=$work/log
status=0
text=$("$control" -d 2>&1) || status=$?
expect "pipe directory of another user" "1 $work/tmp/pipe belongs to user 54321, not to user 0: remove it, or \`chown 0 $work/tmp/pipe\`, or set CUDA_MPS_PIPE_DIRECTORY to another directory" "$status $text"
chown 0:0 "$work/tmp/pipe"
chmod 777 "$work/tmp/pipe"
expect_in "writable for all" "others may write to $work/tmp/pipe (mode 0777): \`chmod go-w $work/tmp/pipe\`" "$("$control" -d 2>&1 || true)"
untouched

# Where the log directory belongs to another user, the daemon serves and logs elsewhere.
export CUDA_MPS_PIPE_DIRECTORY=$work/tmp/own CUDA_MPS_LOG_DIRECTORY=$work/tmp/log
text=$("$control" -d 2>&1) || fail "the log directory kept it from serving: $text"
expect_in "log directory" "belongs to user 54321" "$text"
bob "$control" ps > /dev/null
expect "a client" welcome "$(bob "$client")"
untouched
[ -f "$work/tmp/own/control.log" ] || fail "no log in the pipe directory"
expect "modes" "control 666,control_lock 600,control_privileged 755,log 777,nvidia-cuda-mps-control.pid 644," \
  "$(cd "$work/tmp/own" && stat -c '%n %a' control control_lock control_privileged log nvidia-cuda-mps-control.pid | tr '\n' ,)"
ask 'quit -t 0'
