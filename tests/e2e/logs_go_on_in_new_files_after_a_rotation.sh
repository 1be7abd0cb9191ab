# On rotate_logs and on SIGHUP the daemon reopens its log and those of its servers, also for one that has no right to.
. "$(dirname "$0")/lib.sh"
use_probe

"$control" -d
hold mine "$probe"
[ "$(id -u)" != 0 ] || ask "start_server -uid 65534" > /dev/null
cd "$CUDA_MPS_LOG_DIRECTORY"
started() { [ "$(grep -c "Server has started" server.log)" = "$(ask get_server_list | wc -l)" ]; }
until_true "all servers have started" started
mv control.log control.log.1
mv server.log server.log.1
ask rotate_logs
all_go_on() { [ "$(grep -c "Log reopened" server.log)" = "$(ask get_server_list | wc -l)" ]; }
until_true "every server goes on in the new file" all_go_on
ask "set_policy time_slice" > /dev/null
expect "lines of the servers in the new file" "$(ask get_server_list | wc -l)" "$(grep -c "Policy set to time_slice" server.log)"
! says "Policy set to time_slice" server.log.1 || fail "the old file still grows"
says "Log reopened" control.log || fail "the daemon's own log"
says "Cmd:set_policy" control.log || fail "what the daemon says is not in the new file"
expect "whose file it is" "$(id -u) 644" "$(stat -c '%u %a' server.log)"
release mine
wait "$holder"
