# A tracer reaps a traced process before its parent does, and a server's user may trace it.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
"$client" --hold > "$work/client" &
until_true "a client" says welcome "$work/client"
server=$(ask get_server_list)
"$client" --trace "$server" > "$work/tracer" &
tracer=$!
until_true "the tracer" grep -q ac "$work/tracer"
says "cannot be traced" "$work/tracer" && skip "processes cannot be traced here"
until_true "the server's end" gone "$server"
until_true "the daemon notices" says "Server $server exited" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "the daemon answers" 100.0 "$(TUTTI_SHELL_TIMEOUT=5 ask get_default_active_thread_percentage)"
expect "a client is served" welcome "$("$client")"
kill "$tracer"
collected() { [ ! -e "/proc/$server" ]; }
until_true "the daemon collects it when the tracer has gone" collected
