. "$(dirname "$0")/lib.sh"
use_fakes

# Twenty times, since a race shows only now and then.
for round in $(seq 20); do
  "$control" -d
  expect "first command after -d" 100.0 "$(ask get_default_active_thread_percentage)"
  [ -f "$CUDA_MPS_LOG_DIRECTORY/control.log" ] || fail "no control.log when -d returned"
  pid=$(daemon_pid)
  ask quit || fail "quit in round $round"
  gone "$pid" || fail "the daemon was still there when quit returned"
done
expect "files left" control_lock "$(ls "$CUDA_MPS_PIPE_DIRECTORY")"
