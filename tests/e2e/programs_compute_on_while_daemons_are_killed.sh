. "$(dirname "$0")/lib.sh"
use_programs

"$control" -d
for i in 1 2 3; do
  "$(program reduction)" --seconds 8 > "$work/out$i" 2>&1 &
  pids[i]=$!
done
attached() { [ "$(ask ps | wc -l)" = 4 ]; }
until_true "attached" attached
server=$(ask get_server_list)
for _ in 1 2 3 4 5; do
  kill -KILL "$(daemon_pid)"
  sleep 0.3
  "$control" -d
  until_true "all are in ps" attached
  expect "servers" "$server" "$(ask get_server_list)"
done
"$(program reduction)" > "$work/out" 2>&1 || fail "a program of the last daemon: $(cat "$work/out")"
expect "servers" "$server" "$(ask get_server_list)"
kill -KILL "$(daemon_pid)"
for i in 1 2 3; do wait "${pids[i]}" || fail "a program failed: $(cat "$work/out$i")"; done
