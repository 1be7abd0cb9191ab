. "$(dirname "$0")/lib.sh"
use_fakes
[[ "$(/sbin/ldconfig -p)" == *libsystemd.so.0* ]] || skip "needs libsystemd.so.0"

# Type=notify with a watchdog of 200 ms: ready, a keep-alive every 100 ms, stopping, and exit status 0.
"$fakes/fake_manager" --watchdog 200000 -- "$control" -f > "$work/said" &
manager=$!
until_true "ready" says ^READY=1 "$work/said"
expect "commands when it is ready" 100.0 "$(ask get_default_active_thread_percentage)"
alive() { [ "$(grep -c ^WATCHDOG=1 "$work/said")" -ge 3 ]; }
until_true "signs of life" alive
kill -HUP "$(daemon_pid)"
kill -TERM $manager
wait $manager || fail "exit status"
says ^STOPPING=1 "$work/said" || fail "stopping was not said"

# Socket activation: the manager owns the socket, which exists before and after.
mkdir -p "$CUDA_MPS_PIPE_DIRECTORY"
"$fakes/fake_manager" --listen "$CUDA_MPS_PIPE_DIRECTORY/control" -- "$control" -f > "$work/said" &
manager=$!
until_true "the manager's socket" test -S "$CUDA_MPS_PIPE_DIRECTORY/control"
expect "a client that comes first of all" welcome "$("$client")"
until_true "ready" says ^READY=1 "$work/said"
inode=$(stat -c %i "$CUDA_MPS_PIPE_DIRECTORY/control")
kill -TERM $manager
wait $manager || fail "exit status with a socket"
expect "the manager's socket" "$inode" "$(stat -c %i "$CUDA_MPS_PIPE_DIRECTORY/control")"
