. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d --servers-die
"$client" --hold > "$work/client" &
until_true "welcome" says welcome "$work/client"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
until_true "server gone" gone "$server"
until_true "the client is told" says closed "$work/client"
