. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
expect "no newline at the end" 100.0 "$(printf get_default_active_thread_percentage | "$control")"
expect "several lines" "$(printf '50.0\n50.0')" "$(printf 'set_default_active_thread_percentage 50\nget_default_active_thread_percentage\n' | "$control")"
expect "arguments" 50.0 "$("$control" get_default_active_thread_percentage)"
"$control" start_server -uid "$(id -u)" || fail "start_server as arguments"
has_server() { [ -n "$(ask get_server_list)" ]; }
until_true "server there" has_server
"$control" start_server -uid "$(id -u)" || fail "start_server again must be harmless"
expect "servers" 1 "$(ask get_server_list | wc -l)"
expect "no prompt on a pipe" "" "$(printf '' | "$control")"
# The shell answers before it reads the next line: callers like expect hold the pipe open.
coproc shell { "$control"; }
echo get_default_active_thread_percentage >&"${shell[1]}"
read -r -t 10 line <&"${shell[0]}" || fail "no answer while stdin is open"
expect "answer while stdin is open" 50.0 "$line"
