# Without a configured rotation, the daemon bounds its own log and its servers' by itself.
. "$(dirname "$0")/lib.sh"
use_probe

TUTTI_LOG_MIB=1 "$control" -d
hold mine "$probe"
cd "$CUDA_MPS_LOG_DIRECTORY"
expect "that are not full stay" "control.log server.log" "$(echo *)"
head -c 1100000 /dev/zero | tr '\0' x | tee -a control.log >> server.log
turned_over() { [ -s control.log.old ] && [ -s server.log.old ] && says "Log reopened" server.log; }
until_true "both go on in new files" turned_over
ask "set_policy time_slice" > /dev/null
says "Policy set to time_slice" server.log || fail "the server writes elsewhere"
says "Cmd:set_policy" control.log || fail "the daemon writes elsewhere"
says "Starting control daemon" control.log.old || fail "what was there is lost"
[ "$(stat -c %s control.log)" -lt 100000 ] || fail "the new log begins long"
release mine
wait "$holder"
