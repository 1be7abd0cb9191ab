. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_fakes

"$control" -d
as_user 65534 "$client" --hold > "$work/one" &
as_user 54321 "$client" --hold > "$work/two" &
until_true "first user welcome" says welcome "$work/one"
until_true "second user welcome" says welcome "$work/two"
expect "servers" 2 "$(ask get_server_list | wc -l)"
for server in $(ask get_server_list); do stat -c %u "/proc/$server"; done | sort -n | xargs > "$work/users"
expect "users of the servers" "54321 65534" "$(cat "$work/users")"
for server in $(ask get_server_list); do
  expect_in "groups of a server" "Groups:" "$(sed 's/[[:space:]]*$//' "/proc/$server/status" | grep '^Groups')"
  expect "root groups of server $server" "" "$(awk '/^Groups/ { for (i = 2; i <= NF; i++) if ($i == 0) print $i }' "/proc/$server/status")"
done
ask 'quit -t 0' || fail "quit"
