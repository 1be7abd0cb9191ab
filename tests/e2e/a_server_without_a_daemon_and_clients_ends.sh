. "$(dirname "$0")/lib.sh"
use_probe
"$control" -d
hold held "$probe"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
sleep 12
gone "$server" && fail "it has ended although it has a client"
release held
wait "$holder"
sleep 5
gone "$server" && fail "it does not wait for the next daemon"
until_true "it ends" gone "$server"
