. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_fakes

ask_as() { printf '%s' "$2" | as_user "$1" "$control"; }
"$control" -d
as_user 65534 "$client" --hold > "$work/one" &
as_user 54321 "$client" --hold > "$work/two" &
until_true "first user welcome" says welcome "$work/one"
until_true "second user welcome" says welcome "$work/two"
mine=$(ask_as 65534 get_server_list)
expect "servers a user sees" 1 "$(wc -l <<< "$mine")"
theirs=$(ask get_server_list | grep -vx "$mine")
expect "rows of ps a user sees" 2 "$(ask_as 65534 ps | wc -l)"
expect "own setting" 50.0 "$(ask_as 65534 "set_active_thread_percentage $mine 50")"
for command in "shutdown_server $theirs -f" "set_active_thread_percentage $theirs 1" "get_client_list $theirs" "ps -p $theirs"; do
  expect "$command" "Permission denied: server $theirs belongs to user 54321" "$(ask_as 65534 "$command")"
done
for command in quit "set_default_active_thread_percentage 1" "set_policy time_slice"; do
  expect_in "$command" "Permission denied" "$(ask_as 65534 "$command")"
done
expect_in "start_server" "Permission denied" "$(ask_as 65534 "start_server -uid 0")"
expect "servers as before" 2 "$(ask get_server_list | wc -l)"
expect "default as before" 100.0 "$(ask get_default_active_thread_percentage)"

# Those whom a limit binds can lower it, not raise it.
ask 'set_default_active_thread_percentage 40' > /dev/null
ask 'set_default_device_pinned_mem_limit 0 1G'
expect "above the default" "Permission denied: user 65534 cannot go above the default of 40.0" "$(ask_as 65534 "set_active_thread_percentage $mine 60")"
expect "below it" 30.0 "$(ask_as 65534 "set_active_thread_percentage $mine 30")"
expect "memory above" "Permission denied: user 65534 cannot go above the default of 1G" "$(ask_as 65534 "set_device_pinned_mem_limit $mine 0 2G")"
expect "memory below" "" "$(ask_as 65534 "set_device_pinned_mem_limit $mine 0 512M")"
