# `shutdown_server -f` and `quit -t` end programs whose kernels never end; servers of other users run until it is their turn.
. "$(dirname "$0")/lib.sh"
use_endless_programs

"$control" -d
beside=
if [ "$(id -u)" = 0 ] && as_user 65534 test -r "$bin/tutti-server"; then
  hold beside as_user 65534 "$probe"
  beside=$(ask get_server_list)
fi
endless one loops_for_ever
server=$(ask get_server_list | grep -vx "${beside:-none}")
since=$(date +%s%N)
ask "shutdown_server $server -f"
ended_within_2_s one $endless "$since" "shutdown_server -f"
until_true "its server has ended" gone "$server"
expect "servers left" "$beside" "$(ask get_server_list)"
if [ -n "$beside" ]; then
  release beside
  wait "$holder" || fail "the other user's program was disturbed: $(cat "$work/beside")"
  expect_in "the other user's program" "still served" "$(cat "$work/beside")"
fi

endless two goes_round_in_a_graph
pid=$(daemon_pid)
since=$(date +%s%N)
ask 'quit -t 0' || fail "exit status of quit -t 0"
ended_within_2_s two $endless "$since" "quit -t 0"
gone "$pid" || fail "the daemon outlived quit"
