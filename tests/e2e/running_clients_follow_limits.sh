# A server's limit holds for its running clients at once, but never raises one above what it asked for itself.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
"$client" --hold > "$work/plain" &
plain=$!
until_true "welcome" says welcome "$work/plain"
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 "$client" --hold > "$work/modest" &
modest=$!
until_true "welcome" says welcome "$work/modest"
server=$(ask get_server_list)
expect "set" 60.0 "$(ask "set_active_thread_percentage $server 60")"
expect "a client that asked for nothing" 60.0 "$(ask "get_active_thread_percentage $plain")"
expect "a client that asked for less" 30.0 "$(ask "get_active_thread_percentage $modest")"
expect "a bad value changes nothing" 60.0 "$(ask "set_active_thread_percentage $server banana")"
ask "set_device_pinned_mem_limit $server 0 2G"
expect "memory limit" 2G "$(ask "get_device_pinned_mem_limit $plain 0")"
expect "one client alone" 10.0 "$(ask "set_active_thread_percentage $plain 10")"
ask "set_client_priority $plain 1"
expect_in "priority" '"priority":1' "$(ask report | tr '{' '\n' | grep "\"pid\":$plain,")"
expect "the priority of nobody" "there is no client 1: ps lists them" "$(ask "set_client_priority 1 1")"
expect_in "no client" "no client is named" "$(ask set_client_kernel_time)"
ask 'quit -t 0' || true

"$control" -d --new-clients-only
"$client" --hold > "$work/unmoved" &
unmoved=$!
until_true "welcome" says welcome "$work/unmoved"
ask "set_active_thread_percentage $(ask get_server_list) 60" > /dev/null
expect "NVIDIA's way: new clients only" 100.0 "$(ask "get_active_thread_percentage $unmoved")"
