# A server runs as its user, who may trace it and make it send anything. The daemon and the servers of others survive that.
. "$(dirname "$0")/lib.sh"
use_fakes

for behaviour in deep mistyped crowd files; do
  FAKE_SERVER=$behaviour "$control" -d
  daemon=$(daemon_pid)
  "$client" --hold > "$work/client.$behaviour" &
  until_true "a client" says welcome "$work/client.$behaviour"
  server=$(ask get_server_list)
  for command in faults report "terminate_client $server 7" ps; do ask "$command" > "$work/answer" 2>&1 || true; done
  if [ $behaviour = mistyped ]; then
    said=$("$bin/tutti" faults 2>&1 > "$work/answer") && fail "a fault that cannot be read passes for one"
    expect "tutti faults" "tutti: server $server reports a fault with an invalid \"uid\"" "$said"
  fi
  expect "$behaviour: the daemon answers" 100.0 "$(ask get_default_active_thread_percentage)"
  expect "$behaviour: the same daemon" "$daemon" "$(daemon_pid)"
  ask "quit -t 0"
done
