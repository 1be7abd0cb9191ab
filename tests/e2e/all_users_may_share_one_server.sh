. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_fakes

"$control" -d -M
as_user 65534 "$client" --hold > "$work/one" &
as_user 54321 "$client" --hold > "$work/two" &
until_true "first user welcome" says welcome "$work/one"
until_true "second user welcome" says welcome "$work/two"
server=$(ask get_server_list)
expect "servers" 1 "$(wc -l <<< "$server")"
expect "user of the server" 0 "$(stat -c %u "/proc/$server")"
expect "clients root sees" 2 "$(ask "get_client_list $server" | wc -l)"
expect "clients a user sees" 1 "$(as_user 65534 "$control" get_client_list "$server" | wc -l)"
expect_in "a user may not end it" "Permission denied" "$(as_user 65534 "$control" shutdown_server "$server" -f)"
