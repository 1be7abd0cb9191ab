# A client whose server dies gets 806 from its next call; once it resets its context, it continues on the next server.
. "$(dirname "$0")/lib.sh"
use_probe
again=$fakes/compat_again
[ -x "$again" ] || skip "needs compat_again"

"$control" -d
hold program "$again"
server=$(ask get_server_list)
kill -KILL "$server"
release program
wait "$holder"
expect "what the program says" "holding 0 lost 806 reset 0 again 0" "$(tr '\n' ' ' < "$work/program" | sed 's/ $//')"
[ "$(ask get_server_list)" != "$server" ] || fail "the dead server is still in the list"
