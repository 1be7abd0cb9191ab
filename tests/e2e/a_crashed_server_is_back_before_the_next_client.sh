. "$(dirname "$0")/lib.sh"
use_probe

"$control" -d
hold client "$probe"
server=$(ask get_server_list)
kill -KILL "$server"
# A server that ends before it is ready is started again only when a client wants it.
another() { now=$(ask get_server_list) && [ -n "$now" ] && [ "$now" != "$server" ] && says "NEW SERVER $now: Ready" "$CUDA_MPS_LOG_DIRECTORY/control.log"; }
until_true "another server" another
# Its clients get an error from their next call; new ones are served.
release client
wait $holder && fail "the client noticed nothing"
expect "the client's next call" CUDA_ERROR_MPS_RPC_FAILURE "$(tail -n 1 "$work/client")"
expect_in "a new client" mps=1 "$("$probe")"

# Restarts back off, so that a broken server does not keep the machine busy.
for _ in 1 2 3; do
  server=$(ask get_server_list)
  kill -KILL "$server"
  until_true "another server" another
done
expect_in "log" "waits" "$(control_log | grep 'The next server for user')"
