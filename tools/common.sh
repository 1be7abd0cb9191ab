# Sourced by the tools: paths, messages, a private daemon.
root=$(pwd)

say() {
  progress_end
  printf '%s\n' "$*"
}

# progress WHAT [SECONDS_LEFT]: shows how far a long task is. On a terminal, rewrites one line, which the next message erases;
# elsewhere prints a line, every 15 s at most.
progress_shown=false
progress_said=-15
progress() {
  local line=$1${2:+, about $2 s left}
  if [ -t 2 ]; then
    printf '\r\033[K%s' "$line" >&2
    progress_shown=true
  elif [ $((SECONDS - progress_said)) -ge 15 ]; then
    printf '%s\n' "$line" >&2
    progress_said=$SECONDS
  fi
}
progress_end() {
  $progress_shown || return 0
  printf '\r\033[K' >&2
  progress_shown=false
}

fail() {
  progress_end
  printf '%s\n' "$*" >&2
  exit 1
}

# private_daemon NAME BUILD LOGS CACHE: starts a daemon for this script alone, which ends with it. Programs started afterwards
# load our library and find the daemon; its shell is $control, its directory CUDA_MPS_PIPE_DIRECTORY.
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
