# Terminated, killed, gone by itself, ended by quit: nobody waits for the value, and the client beside notices nothing.
. "$(dirname "$0")/lib.sh"
use_probe
[ -x "$fakes/waiting_program" ] || skip "needs libcuda.so.1"
waits() {
  "$fakes/waiting_program" > "$work/$1" 2>&1 &
  waiter=$!
  until_true "$1 waits: $(cat "$work/$1")" says running "$work/$1"
}

"$control" -d
hold beside "$probe"
server=$(ask get_server_list)
only_the_holder() { [ "$(ask "get_client_list $server")" = "$holder" ]; }

waits terminated
since=$(date +%s%N)
expect "terminate_client" 0 "$(ask "terminate_client $server $waiter")"
ended_within_2_s terminated $waiter "$since" terminate_client
until_true "the terminated client is gone" only_the_holder

for signal in KILL TERM; do
  waits "killed_by_$signal"
  kill -$signal $waiter
  wait $waiter || true
  until_true "the client killed by $signal is gone" only_the_holder
done

timeout 10 "$fakes/waiting_program" --leave > "$work/left" ||
  fail "a program whose stream waits cannot end: $(cat "$work/left")"
until_true "the client that left is gone" only_the_holder

# Beside one that waits, others are served.
waits on
timeout 30 "$probe" > "$work/another" 2>&1 || fail "a program beside one that waits: $(cat "$work/another")"
expect "clients" "$(printf '%s\n' "$holder" $waiter | sort)" "$(ask "get_client_list $server" | sort)"
kill -KILL $waiter
wait $waiter || true
release beside
wait "$holder" || fail "the program beside them was disturbed: $(cat "$work/beside")"
expect_in "the program beside them" "still served" "$(cat "$work/beside")"
expect "the server is the same" "$server" "$(ask get_server_list)"

waits quit
pid=$(daemon_pid)
since=$(date +%s%N)
ask 'quit -t 0' || fail "exit status of quit -t 0"
ended_within_2_s quit $waiter "$since" "quit -t 0"
gone "$pid" || fail "the daemon outlived quit"
