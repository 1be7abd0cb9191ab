. "$(dirname "$0")/lib.sh"

"$control" -d
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
"$control" -d || fail "after SIGKILL"
ask quit

# As a restarted container finds it: files of the right names and the wrong kind, and a process id that belongs to another
# process now.
pipe=$CUDA_MPS_PIPE_DIRECTORY
echo 1 > "$pipe/nvidia-cuda-mps-control.pid"
touch "$pipe/control" "$pipe/control_privileged" "$pipe/log"
"$control" -d || fail "with files of the same names"
expect "the daemon's own process id" "$(readlink -f "$control")" "$(readlink "/proc/$(daemon_pid)/exe")"
[ -S "$pipe/control" ] || fail "control is no socket"
[ -p "$pipe/log" ] || fail "log is no FIFO"
ask quit
