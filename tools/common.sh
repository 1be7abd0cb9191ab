# Sourced by the tools: where things are, and how they speak.
root=$(pwd)

say() { printf '%s\n' "$*"; }
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# private_daemon NAME BUILD LOGS CACHE: a daemon of this script alone, which ends with it. Programs started afterwards load
# our library and find the daemon; its shell is $control, its directory CUDA_MPS_PIPE_DIRECTORY.
private_daemon() {
  local name=$1 build=$2
  # Not below the repository: a socket's path is at most 107 bytes.
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d "/tmp/tutti-$name.XXXXXX")
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY=$3 TUTTI_CACHE_DIR=$4
  export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  mkdir -p "$CUDA_MPS_LOG_DIRECTORY"
  control=$build/bin/nvidia-cuda-mps-control
  trap end_private_daemon EXIT
  "$control" -d
}
end_private_daemon() {
  "$control" <<< 'quit -t 2' > /dev/null 2>&1 || true
  rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
}
