. "$(dirname "$0")/lib.sh"
use_fakes

mkfifo "$work/fifo"
cat "$work/fifo" > "$work/read" &
reader=$!
exec 7> "$work/fifo" 8> "$work/lock"
flock 8
"$control" -d
exec 7>&- 8>&-
# A pipe whose reader waits for its end, and a lock that goes with a job.
until_true "the reader has come to the end" gone $reader
flock -n "$work/lock" true || fail "the daemon holds its caller's lock"
ask quit
