. "$(dirname "$0")/lib.sh"
use_fakes
export TUTTI_SHELL_TIMEOUT=1

"$control" -d
pid=$(daemon_pid)
kill -STOP "$pid"
status=0
text=$(echo ps | timeout 60 "$control" 2>&1) || status=$?
kill -CONT "$pid"
expect "exit status" 1 "$status"
expect_in "what is said" "the control daemon (process $pid) has not answered \"ps\" within 1000 ms: it hangs, or is stopped" "$text"

# The shell waits for a command that takes longer, as long as the daemon answers others.
"$client" --hold > "$work/held" &
held=$!
until_true "a client" says welcome "$work/held"
echo quit | "$control" > "$work/quit" 2>&1 &
quit=$!
sleep 3
gone $quit && fail "the shell did not wait: $(cat "$work/quit")"
kill $held
wait $quit || fail "quit: $(cat "$work/quit")"
