. "$(dirname "$0")/lib.sh"
use_fakes

FAKE_SERVER=deaf "$control" -d
"$client" --hold > /dev/null &
until_true "server ready" says "Ready" "$CUDA_MPS_LOG_DIRECTORY/control.log"
server=$(ask get_server_list)
ask "get_client_list $server" > "$work/list" &
list=$!
expect "another shell meanwhile" 100.0 "$(ask get_default_active_thread_percentage)"
wait $list
expect "answer in the end" "Server $server does not answer" "$(cat "$work/list")"
pid=$(daemon_pid)
status=0
ask 'quit -t 0' || status=$?
expect "exit status of quit when a server had to be killed" 1 $status
gone "$server" || fail "the server outlived quit"
gone "$pid" || fail "the daemon outlived quit"
