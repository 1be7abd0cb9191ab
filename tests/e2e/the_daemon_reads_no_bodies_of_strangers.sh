# A body in a memory file may be 64 MiB long and costs its sender nothing; the daemon has one thread for everybody.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
stranger=
[ "$(id -u)" != 0 ] || stranger="as_user 54321"
expect "what became of the bodies" "0 of 300 were read" "$($stranger "$client" --bodies 300)"
expect "the daemon answers" 100.0 "$(ask get_default_active_thread_percentage)"
expect "a client is served" welcome "$("$client")"
