. "$(dirname "$0")/lib.sh"
use_probe

export CUDA_VISIBLE_DEVICES=0
PATH=$bin:$PATH nvidia-cuda-mps-control -d
"$probe" > /dev/null
daemon=$(daemon_pid)
contains() { grep -qx "$1" <<< "$2" || fail "$3: no $1 in: $2"; }
contains "$daemon" "$(pgrep -fx 'nvidia-cuda-mps-control -d')" "pgrep -fx"
if command -v pidof > /dev/null; then
  contains "$daemon" "$(pidof "$bin/tutti-control" | tr ' ' '\n')" pidof
fi
expect "name of the daemon" nvidia-cuda-mps "$(cat "/proc/$daemon/comm")"
expect "name of the server" nvidia-cuda-mps "$(cat "/proc/$(ask get_server_list)/comm")"
environment=$(tr '\0' '\n' < "/proc/$daemon/environ")
contains "CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY" "$environment" environ
contains CUDA_VISIBLE_DEVICES=0 "$environment" environ
