. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
ask 'set_default_active_thread_percentage 40' > /dev/null
ask 'set_default_device_pinned_mem_limit 0 2G'
"$client" --hold > "$work/one" &
one=$!
until_true "welcome" says welcome "$work/one"
pid=$(daemon_pid)
server=$(ask get_server_list)

# A package manager replaces a program by another file of the same name.
cp "$control" "$control.new"
mv "$control.new" "$control"
kill -USR2 "$pid"
replaced() { [ "$(readlink "/proc/$pid/exe")" = "$control" ]; }
until_true "the new program runs in the same process" replaced
expect "process" "$pid" "$(daemon_pid)"
expect "command line" "$control -d" "$(tr '\0' ' ' < "/proc/$pid/cmdline" | sed 's/ $//')"
expect "settings" "40.0 2G" "$(printf 'get_default_active_thread_percentage\nget_default_device_pinned_mem_limit 0' | "$control" | xargs)"

# The client stays with its server; the next one gets a new server.
gone $one && fail "the client was disturbed: $(cat "$work/one")"
expect "the old server" "$server" "$(ask get_server_list)"
"$client" --hold > "$work/two" &
until_true "the next client" says welcome "$work/two"
expect "servers" 2 "$(ask get_server_list | wc -l)"
expect "the first client's server" "$one" "$(ask "get_client_list $server")"
kill $one
until_true "the old server ends with its last client" gone "$server"
expect "terminated ones leave" 1 "$(ask get_server_list | wc -l)"
ask 'quit -t 0' || fail "quit"
gone "$pid" || fail "the daemon outlived quit"
