. "$(dirname "$0")/lib.sh"

# GKE's device plugin runs the command from a path of its own, closes the pipe, and reads the exit status and a number.
mkdir "$work/nvidia"
ln -s "$(realpath "$bin")" "$work/nvidia/bin"
probe_node() { printf get_default_active_thread_percentage | "$work/nvidia/bin/nvidia-cuda-mps-control"; }
status=0
probe_node > /dev/null || status=$?
expect "no daemon on this node" 1 $status
"$work/nvidia/bin/nvidia-cuda-mps-control" -d
expect "a daemon" 100.0 "$(probe_node)"
