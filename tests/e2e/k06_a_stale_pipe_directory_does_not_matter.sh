. "$(dirname "$0")/lib.sh"

"$control" -d
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
"$control" -d || fail "after SIGKILL"
ask quit

# What a restarted container finds: files of the same names that are not what they should be, and a process id that is
# somebody else's now.
pipe=$CUDA_MPS_PIPE_DIRECTORY
echo 1 > "$pipe/nvidia-cuda-mps-control.pid"
touch "$pipe/control" "$pipe/control_privileged" "$pipe/log"
"$control" -d || fail "with files of the same names"
expect "the daemon's own process id" "$(readlink -f "$control")" "$(readlink "/proc/$(daemon_pid)/exe")"
[ -S "$pipe/control" ] || fail "control is no socket"
[ -p "$pipe/log" ] || fail "log is no FIFO"
ask quit
