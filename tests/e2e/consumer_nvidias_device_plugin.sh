. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=46068M TUTTI_CPU_SMS=10

# NVIDIA's mps-control-daemon: each command is a process with two variables, sent without newline, its exit status checked.
# Ten replicas of a device of 46068 MiB.
pipe=$work/nvidia.com/gpu.shared/pipe log=$work/nvidia.com/gpu.shared/log
ctl() { env -i CUDA_MPS_PIPE_DIRECTORY="$pipe" CUDA_MPS_LOG_DIRECTORY="$log" TUTTI_CPU_MEMORY=$TUTTI_CPU_MEMORY TUTTI_CPU_SMS=$TUTTI_CPU_SMS "$control" "$@"; }
mkdir -p -m 755 "$pipe" "$log"
export CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$log
ctl -d
printf 'set_default_device_pinned_mem_limit 0 4606M' | ctl
printf 'set_default_active_thread_percentage 10' | ctl > /dev/null
tail -n +1 -f "$log/control.log" > "$work/tail" &
# The plugin's health check, then a container's view: the pipe directory and nothing else.
expect "health" 10.0 "$(printf get_default_active_thread_percentage | ctl)"
expect_in "a container's share" "sms=1 total_mib=4606 " "$("$probe")"
until_true "log followed" says 'Cmd:set_default_device_pinned_mem_limit 0 4606M' "$work/tail"
# Stop: quit, while the log directory is removed under the running daemon.
printf quit | ctl
rm -rf "$log"
status=0
printf get_default_active_thread_percentage | ctl > /dev/null || status=$?
expect "health after the end" 1 $status
# A new configuration starts in the same pipe directory.
ctl -d
expect "started again" 100.0 "$(printf get_default_active_thread_percentage | ctl)"
