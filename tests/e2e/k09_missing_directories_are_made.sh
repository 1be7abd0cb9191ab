. "$(dirname "$0")/lib.sh"

export CUDA_MPS_PIPE_DIRECTORY=$work/nvidia-mps_0 CUDA_MPS_LOG_DIRECTORY=$work/below/nvidia-log_0
(umask 077 && "$control" -d)
expect "pipe directory" 755 "$(stat -c %a "$work/nvidia-mps_0")"
expect "log directory" 755 "$(stat -c %a "$work/below/nvidia-log_0")"
expect "control" 666 "$(stat -c %a "$work/nvidia-mps_0/control")"
