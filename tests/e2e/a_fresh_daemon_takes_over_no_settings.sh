# Nor does it harm who runs on the servers of the one that was killed: those end with their last clients.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
ask 'set_default_active_thread_percentage 40' > /dev/null
"$client" --hold > "$work/client" &
held=$!
until_true "welcome" says welcome "$work/client"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"

expect "what the start says" "" "$("$control" -d --fresh 2>&1)"
expect "its settings" 100.0 "$(ask get_default_active_thread_percentage)"
expect "a new client" welcome "$("$client")"
gone "$server" && fail "the server has ended before its client"
expect_in "servers" "$server" "$(ask get_server_list)"
kill "$held"
until_true "the server has ended with its last client" gone "$server"
