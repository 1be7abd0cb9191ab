# It had no descriptor for the connection, say. It is known, and new clients get another server; `quit` ends it.
. "$(dirname "$0")/lib.sh"
use_fakes

FAKE_SERVER=shy "$control" -d
"$client" --hold > "$work/one" &
until_true "welcome" says welcome "$work/one"
shy=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
"$control" -d
"$client" --hold > "$work/two" &
until_true "a new client has another server" says welcome "$work/two"
expect "servers" 2 "$(ask get_server_list | wc -l)"
expect_in "servers" "$shy" "$(ask get_server_list)"
sleep 2.5
gone "$shy" && fail "the server was killed"
says closed "$work/one" && fail "its client was told that it has ended"
expect_in "what is said of it" "Server $shy does not take this daemon: it ends with its last client" "$(control_log)"

# A daemon that goes on as another program still follows it.
kill -USR2 "$(daemon_pid)"
until_true "the daemon goes on" says "of the previous program serves its clients" "$CUDA_MPS_LOG_DIRECTORY/control.log"
followed() { [[ "$(ask get_server_list)" == *"$shy"* ]]; }
until_true "the server is known" followed
sleep 2.5
gone "$shy" && fail "the server was killed by the upgrade"

expect "a command that it cannot be told" "Server $shy is not connected to this daemon: it ends with its last client" \
  "$(ask "set_active_thread_percentage $shy 50")"
ask 'quit -t 0' || fail "the daemon has ended with $?, though nothing had failed"
gone "$shy" || fail "the server outlived quit"
until_true "its client is told" says closed "$work/one"
