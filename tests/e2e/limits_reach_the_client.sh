. "$(dirname "$0")/lib.sh"
use_fakes

export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80
"$control" -d
expect "default from the environment" 80.0 "$(ask get_default_active_thread_percentage)"
ask 'set_default_device_pinned_mem_limit 0 2G'
start() { # start NAME VARIABLE=VALUE...: starts a client, sets $pid
  env "${@:2}" "$client" --hold > "$work/$1" &
  pid=$!
  until_true "$1 welcome" says welcome "$work/$1"
}
start first CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80
expect "equal values are not multiplied" 80.0 "$(ask "get_active_thread_percentage $pid")"
expect "memory limit of the default" 2G "$(ask "get_device_pinned_mem_limit $pid 0")"
start second CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=20 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=512MB
expect "a client can lower its share" 20.0 "$(ask "get_active_thread_percentage $pid")"
expect "a client can lower its memory" 512M "$(ask "get_device_pinned_mem_limit $pid 0")"
server=$(ask get_server_list)
expect "new value of the server" 50.0 "$(ask "set_active_thread_percentage $server 50")"
start third CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80
expect "new clients get it" 50.0 "$(ask "get_active_thread_percentage $pid")"
expect "a running client can be changed" 10.0 "$(ask "set_active_thread_percentage $pid 10")"
expect "and is" 10.0 "$(ask "get_active_thread_percentage $pid")"
