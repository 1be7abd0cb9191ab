. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
pid=$(daemon_pid)
"$client" --hold > "$work/client" &
until_true "welcome" says welcome "$work/client"
ask quit > "$work/quit" &
quit=$!
until_true "quit arrived" says Cmd:quit "$CUDA_MPS_LOG_DIRECTORY/control.log"
status=0
text=$("$client") || status=$?
expect "a client that comes while it quits" "refused 807 the control daemon is shutting down" "$text"
gone $quit && fail "quit did not wait for the client"
gone "$pid" && fail "the daemon did not wait for the client"
ask 'quit -t 0' || fail "exit status of quit -t 0"
wait $quit || fail "exit status of the quit that waited"
gone "$pid" || fail "the daemon outlived quit"
until_true "the client is told" says closed "$work/client"
