. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
"$client" --hold > "$work/old" &
until_true "welcome" says welcome "$work/old"
server=$(ask get_server_list)
expect "shutdown_server says nothing" "" "$(ask "shutdown_server $server")"
expect "the next client" welcome "$("$client")"
gone "$server" && fail "the server did not wait for its client"
ask "shutdown_server $server -f"
until_true "server gone" gone "$server"
until_true "its client is told" says closed "$work/old"
until_true "exit logged" says "Server $server exited with status 0" "$CUDA_MPS_LOG_DIRECTORY/control.log"
