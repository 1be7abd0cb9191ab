. "$(dirname "$0")/lib.sh"
use_fakes
tutti=$bin/tutti
[ -x "$tutti" ] || skip "needs tutti"

"$control" -d
"$client" --hold > "$work/client" &
pid=$!
until_true "welcome" says welcome "$work/client"
expect_in "all at once" "threads 25.0%, memory 2.0 GiB" "$("$tutti" limit $pid --threads 25 --memory 2G --priority low)"
expect "percentage" 25.0 "$(ask "get_active_thread_percentage $pid")"
expect_in "priority" '"priority":1' "$(ask report | tr '{' '\n' | grep "\"pid\":$pid,")"
refused() {
  local said
  if said=$("$tutti" "${@:2}" 2>&1); then fail "\"${*:2}\" has exit status 0"; fi
  expect_in "\"${*:2}\"" "$1" "$said"
}
refused "active thread percentage 101 is out of range" limit $pid --threads 101 --memory 1G
expect "nothing is set where one value is wrong" 2G "$(ask "get_device_pinned_mem_limit $pid 0")"
refused '"5K" is not a size' limit $pid --memory 5K
refused "no program 1 shares the device" limit 1 --threads 10
refused 'name: "fair" is unknown: give share or priority' policy fair
refused 'pid: "x" is not a whole number: give one, as 4711' limit x
refused '--interval: "0" is out of range: give a number from 0.05 to 3600' top -d 0
expect "policy" priority "$("$tutti" policy priority)"
expect "of the daemon" priority "$(ask get_policy)"
expect_in "top on a pipe is text" "$pid" "$("$tutti" top --once -d 0.05)"
