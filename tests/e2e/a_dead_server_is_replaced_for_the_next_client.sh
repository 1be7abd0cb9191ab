. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
expect "first client" welcome "$("$client")"
server=$(ask get_server_list)
kill -KILL "$server"
until_true "the death is logged" says "Server $server exited with status 137" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "next client" welcome "$("$client")"
[ "$(ask get_server_list)" != "$server" ] || fail "the dead server is still in the list"
