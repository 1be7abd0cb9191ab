. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
ask 'set_default_active_thread_percentage 40' > /dev/null
ask 'set_default_device_pinned_mem_limit 0 2G'
for name in one two; do
  "$client" --hold > "$work/$name" &
  declare $name=$!
  until_true "welcome" says welcome "$work/$name"
done
server=$(ask get_server_list)
ask "set_active_thread_percentage $server 30" > /dev/null
ask "set_active_thread_percentage $one 10" > /dev/null
ask "set_policy time_slice $server"
before=$(ask ps)
served() { [ "$(ask ps)" = "$before" ]; }

kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
sleep 0.2
for pid in $server $one $two; do gone "$pid" && fail "process $pid ended with the daemon"; done
"$control" -d

expect "servers" "$server" "$(ask get_server_list)"
until_true "the same clients: $before, and now: $(ask ps)" served
expect "defaults" "40.0 2G" "$(printf 'get_default_active_thread_percentage\nget_default_device_pinned_mem_limit 0' | "$control" | xargs)"
expect "the server's percentage" 30.0 "$(ask "get_active_thread_percentage $server")"
expect "one client's" 10.0 "$(ask "get_active_thread_percentage $one")"
expect_in "the server's policy" time_slice "$(ask report)"
"$client" --hold > "$work/three" &
until_true "a new client" says welcome "$work/three"
expect "servers" "$server" "$(ask get_server_list)"
expect "clients" 3 "$(ask "get_client_list $server" | wc -l)"
expect "the answer to terminate_client" 0 "$(ask "terminate_client $server $one")"
until_true "it is told" says closed "$work/one"

# Again and again, with no time to do anything.
for _ in $(seq 10); do
  kill -KILL "$(daemon_pid)"
  "$control" -d
done
expect "servers" "$server" "$(ask get_server_list)"
two_clients() { [ "$(ask "get_client_list $server" | wc -l)" = 2 ]; }
until_true "its clients" two_clients

# One that is told to end has ended, with all that it had.
ask 'quit -t 0' || fail "quit"
gone "$server" || fail "the server outlived quit"
until_true "they are told" says closed "$work/two"
expect "files that are left" control_lock "$(ls -A "$CUDA_MPS_PIPE_DIRECTORY")"
"$control" -d
expect "defaults of a daemon that goes on with nothing" 100.0 "$(ask get_default_active_thread_percentage)"
