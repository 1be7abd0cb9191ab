# Whatever has become of a server while there was no daemon: the next one serves.
. "$(dirname "$0")/lib.sh"
use_fakes
"$control" -d
"$client" --hold > "$work/one" &
until_true "welcome" says welcome "$work/one"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
kill -KILL "$server"
until_true "server gone" gone "$server"
"$control" -d
expect "servers" "" "$(ask get_server_list)"
expect_in "what is said of it" "Server $server of user $(id -u) is not adopted: it has ended" "$(control_log)"
expect "the next client" welcome "$("$client")"

# One that was told to end with its last client still does.
"$client" --hold > "$work/two" &
two=$!
until_true "welcome" says welcome "$work/two"
server=$(ask get_server_list)
ask "shutdown_server $server"
kill -KILL "$(daemon_pid)"
"$control" -d
"$client" --hold > "$work/three" &
until_true "welcome" says welcome "$work/three"
expect "servers" 2 "$(ask get_server_list | wc -l)"
kill "$two"
until_true "it ends" gone "$server"
expect "servers" 1 "$(ask get_server_list | wc -l)"

# So does one whose daemon was killed while it waited for its clients.
server=$(ask get_server_list)
ask quit > /dev/null 2>&1 &
until_true "the daemon is ending" says "Cmd:quit" "$CUDA_MPS_LOG_DIRECTORY/control.log"
kill -KILL "$(daemon_pid)"
"$control" -d
expect "the next client" welcome "$("$client")"
expect "servers" 2 "$(ask get_server_list | wc -l)"
kill "$(ask "get_client_list $server")"
until_true "it ends" gone "$server"

# Another kind of daemon has none of its settings, and lets its servers end.
"$client" --hold > "$work/five" &
until_true "welcome" says welcome "$work/five"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
"$control" -d -M
expect_in "what is said" "started with other options" "$(control_log)"
"$client" --hold > "$work/four" &
until_true "welcome" says welcome "$work/four"
expect "servers" 2 "$(ask get_server_list | wc -l)"

# One that was to end at once ends, though its daemon was killed before it could see to that.
old=$(daemon_pid)
ask "quit -t 0" > /dev/null 2>&1 || true
until_true "the daemon ends" gone "$old"
export FAKE_SERVER=deaf
"$control" -d
"$client" --hold > "$work/six" 2>&1 &
has_a_server() { [ -n "$(ask get_server_list)" ]; }
until_true "a server" has_a_server
server=$(ask get_server_list)
ask "shutdown_server $server -f"
kill -KILL "$(daemon_pid)"
"$control" -d
until_true "it is killed" gone "$server"
