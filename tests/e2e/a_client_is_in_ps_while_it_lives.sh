. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
expect "ps with no server" "Server not found" "$(ask ps)"
"$client" --hold > "$work/client" &
pid=$!
until_true "welcome" says welcome "$work/client"
server=$(ask get_server_list)
expect "status of the server" ACTIVE "$(ask "get_server_status $server")"
expect "client list" $pid "$(ask "get_client_list $server")"
expect "header of ps" "PID ID SERVER DEVICE NAMESPACE COMMAND" "$(ask ps | head -1 | xargs)"
expect "row of ps" "$pid 0 $server GPU-cb1213a3-d6a4-be7f $(stat -Lc %i /proc/self/ns/pid) $client" "$(ask ps | tail -1 | xargs)"
expect "ps -p" "$(ask ps)" "$(ask "ps -p $server")"
expect_in "device list" "$pid" "$(ask get_device_client_list)"
kill -KILL $pid
no_clients() { [ -z "$(ask "get_client_list $server")" ]; }
until_true "client gone from the list" no_clients
expect "rows of ps afterwards" 1 "$(ask ps | wc -l)"
