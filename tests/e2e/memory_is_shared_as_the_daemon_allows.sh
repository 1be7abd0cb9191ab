# Two programs share memory and events as the daemon's default and their namespaces allow.
. "$(dirname "$0")/lib.sh"
use_probe
share=$fakes/share_probe
root=$CUDA_MPS_PIPE_DIRECTORY
# offer NAME COMMAND...: its handle is in $work/NAME.handle
offer() {
  mkfifo "$work/$1.stdin"
  "${@:2}" "$share" --offer "$work/$1.handle" < "$work/$1.stdin" > "$work/$1" 2>&1 &
  exec {offer_fd}> "$work/$1.stdin"
  until_true "an answer for $1" says . "$work/$1"
}
take() { "${@:2}" "$share" --take "$work/$1.handle" 2> /dev/null || true; }
take_event() { "${@:2}" "$share" --take-event "$work/$1.handle" 2> /dev/null || true; }

"$control" -d -p 3
expect "the default" user "$(ask get_memory_sharing)"
"$control" namespace create closed --server="uid_$(id -u)" 2> /dev/null || { "$share" --take /dev/null > /dev/null 2>&1 || true; "$control" namespace create closed --server="uid_$(id -u)" > /dev/null; }
server=$("$control" server list --format=csv,noheader | cut -d, -f1)
"$control" namespace set closed --server="$server" --memory-sharing=off
expect "what is set" off "$("$control" namespace get closed "$server" memory-sharing)"
offer one env
expect "the first" offered "$(cat "$work/one")"
expect "another of the same user" 42 "$(take one env)"
expect "an event" opened "$(take_event one env)"
expect "one from a namespace that shares nothing" CUDA_ERROR_NOT_PERMITTED "$(take_event one env CUDA_MPS_PIPE_DIRECTORY="$root/$server/closed")"
expect "from a namespace that shares nothing" CUDA_ERROR_NOT_PERMITTED "$(take one env CUDA_MPS_PIPE_DIRECTORY="$root/$server/closed")"
offer two env CUDA_MPS_PIPE_DIRECTORY="$root/$server/closed"
says NOT_PERMITTED "$work/two" || fail "a namespace that shares nothing offers memory: $(cat "$work/two")"
expect_in "what the program is told" "memory_sharing" "$(cat "$work/two")"

ask 'set_memory_sharing off'
expect "clients that connect later" CUDA_ERROR_NOT_PERMITTED "$(take one env)"
expect_in "a word that is none" "give off, user or all" "$(ask 'set_memory_sharing some')"
ask 'set_memory_sharing user'
expect "and later again" 42 "$(take one env)"
offer_of_nobody=$(CUDA_MPS_PIPE_DIRECTORY=$work/nowhere "$share" --offer "$work/none.handle" 2>&1 < /dev/null || true)
expect_in "without a daemon" "a server of its own" "$offer_of_nobody"
ask 'quit -t 1'

# Users share with each other only where both namespaces say so, and they have one server.
[ "$(id -u)" = 0 ] || exit 0
as_user 65534 test -x "$share" || exit 0
"$control" -d -M
chmod 755 "$work"
offer three env
chmod 644 "$work/three.handle" "$work/three.handle.event"
expect "another user" CUDA_ERROR_NOT_PERMITTED "$(take three as_user 65534)"
expect "another user's event" CUDA_ERROR_NOT_PERMITTED "$(take_event three as_user 65534)"
ask 'set_memory_sharing all'
expect "one that came under another rule" CUDA_ERROR_NOT_PERMITTED "$(take three as_user 65534)"
offer four env
chmod 644 "$work/four.handle" "$work/four.handle.event"
expect "another user, where all share" 42 "$(take four as_user 65534)"
expect "another user's event, where all share" opened "$(take_event four as_user 65534)"
ask 'quit -t 1'
