. "$(dirname "$0")/lib.sh"
use_programs

"$control" -d
"$(program vector_add)" --seconds 60 > "$work/out" 2>&1 &
pid=$!
one_client() { [ "$(ask ps | wc -l)" = 2 ]; }
until_true "attached" one_client
sleep 0.3
kill -KILL "$(daemon_pid)"
status=0
wait $pid || status=$?
[ $status -ne 0 ] || fail "the program went on without a server"
expect_in "what the program says" MPS "$(cat "$work/out")"
