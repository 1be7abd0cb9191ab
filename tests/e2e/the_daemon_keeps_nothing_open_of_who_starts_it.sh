. "$(dirname "$0")/lib.sh"
use_fakes

mkfifo "$work/fifo"
cat "$work/fifo" > "$work/read" &
reader=$!
exec 7> "$work/fifo" 8> "$work/lock"
flock 8
"$control" -d
exec 7>&- 8>&-
# A pipe whose reader waits for its end, and a lock that a job holds.
until_true "the reader has come to the end" gone $reader
flock -n "$work/lock" true || fail "the daemon holds its caller's lock"
ask quit

# In the foreground the daemon inherits its caller's descriptors; its servers do not.
"$control" -f 9< "$work/lock" > /dev/null &
until_true "a daemon in the foreground" ask get_server_list
"$client" --hold > "$work/client" &
until_true "a client" says welcome "$work/client"
server=$(ask get_server_list)
! readlink "/proc/$server/fd/"* | grep -q "$work/lock" || fail "the server has a file of the daemon's caller"
ask "quit -t 0"
