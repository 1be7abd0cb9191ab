# A loop, a barrier that never completes, an endless recursion, a loop of a graph: the client is terminated, the one beside it notices nothing.
. "$(dirname "$0")/lib.sh"
use_endless_programs

"$control" -d
hold beside "$probe"
server=$(ask get_server_list)
for kernel in loops_for_ever waits_for_a_warp_that_loops recurses_without_end goes_round_in_a_graph; do
  endless program $kernel
  since=$(date +%s%N)
  expect "terminate_client" 0 "$(ask "terminate_client $server $endless")"
  ended_within_2_s program $endless "$since" "$kernel"
  expect "clients left" "$holder" "$(ask "get_client_list $server")"
done
release beside
wait "$holder" || fail "the program beside them was disturbed: $(cat "$work/beside")"
expect_in "the program beside them" "still served" "$(cat "$work/beside")"
expect "the server is the same" "$server" "$(ask get_server_list)"
