. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
pid=$(daemon_pid)
"$client" --hold > "$work/client" &
held=$!
until_true "welcome" says welcome "$work/client"
expect "garbage" sent "$("$client" --garbage)"
expect "the daemon answers" 100.0 "$(ask get_default_active_thread_percentage)"
expect "the same daemon" "$pid" "$(daemon_pid)"
expect "a new client" welcome "$("$client")"
kill -0 $held || fail "a client was lost"
# The daemon closes what it opened for them.
few_descriptors() { [ "$(ls "/proc/$pid/fd" | wc -l)" -lt 30 ]; }
until_true "descriptors closed" few_descriptors
