# Anyone with write access to the directory can remove or replace the daemon's files: it recreates them and keeps its clients.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
pid=$(daemon_pid)
"$client" --hold > "$work/held" &
until_true "a client" says welcome "$work/held"
pipe=$CUDA_MPS_PIPE_DIRECTORY
answers() { [ "$(ask get_default_active_thread_percentage 2> /dev/null)" = 100.0 ]; }
rm "$pipe/control"
until_true "the socket is back" answers
expect "a new client" welcome "$("$client")"

"$client" --listen > "$work/other" &
until_true "somebody else listens there" says listening "$work/other"
until_true "the socket is the daemon's again" answers

mv "$pipe" "$pipe.gone"
until_true "the whole directory is back" answers
expect "files" "control control_lock control_privileged log nvidia-cuda-mps-control.pid" "$(ls "$pipe" | xargs)"
expect "the same daemon" "$pid" "$(daemon_pid)"
echo "still here" > "$pipe/log"
until_true "lines reach the log" says "Other: still here" "$CUDA_MPS_LOG_DIRECTORY/control.log"
status=0
"$control" -d > "$work/second" 2>&1 || status=$?
expect "a second daemon" "1 An instance of this daemon is already running" "$status $(head -1 "$work/second")"
says closed "$work/held" && fail "the client was lost"
ask 'quit -t 0'
