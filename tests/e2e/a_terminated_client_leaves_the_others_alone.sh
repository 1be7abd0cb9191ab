. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
"$client" --hold > "$work/one" &
one=$!
"$client" --hold > "$work/two" &
two=$!
until_true "first welcome" says welcome "$work/one"
until_true "second welcome" says welcome "$work/two"
server=$(ask get_server_list)
expect "terminate_client" 0 "$(ask "terminate_client $server $one")"
until_true "the client is told" says closed "$work/one"
expect "clients left" $two "$(ask "get_client_list $server")"
expect "once more" "Client $one not found on server $server" "$(ask "terminate_client $server $one")"
expect "without a process id" "\"\" is not the process id of a client: see get_client_list $server" "$(ask "terminate_client $server")"
