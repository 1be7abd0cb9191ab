. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
[ -S "$CUDA_MPS_PIPE_DIRECTORY/control" ] || fail "the test needs stale files"
status=0
text=$(ask get_server_list 2>&1) || status=$?
expect "exit status without a daemon" 1 $status
expect "text without a daemon" "Cannot find MPS control daemon process" "$text"

"$control" -d || fail "stale files kept a new daemon from starting"
expect "answer of the new one" 100.0 "$(ask get_default_active_thread_percentage)"

# Also at once, while the kernel still closes the killed one's files.
for _ in 1 2 3 4 5; do
  kill -KILL "$(daemon_pid)"
  "$control" -d || fail "a daemon that was killed just now kept a new one from starting"
done
