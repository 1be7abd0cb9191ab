. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as another user"
use_fakes

"$control" -d
line=x_$(printf 'A%.0s' $(seq 2000))
for _ in $(seq 3000); do echo "$line"; done | as_user 54321 "$control" > "$work/answers"
expect "commands answered" 3000 "$(grep -c "Unknown command" "$work/answers")"
bytes=$(stat -c %s "$CUDA_MPS_LOG_DIRECTORY/control.log")
[ "$bytes" -lt 3000000 ] || fail "12 MB of commands and answers made a log of $bytes bytes"
# Nor do clients with unreadable variables.
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$line CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=$line CUDA_MPS_CLIENT_PRIORITY=$line \
  as_user 54321 "$client" --hellos 1000 > /dev/null
more=$(stat -c %s "$CUDA_MPS_LOG_DIRECTORY/control.log")
[ $((more - bytes)) -lt 4000000 ] || fail "6 MB of variables made a log of $((more - bytes)) bytes"
# What others do is still logged.
ask "set_default_active_thread_percentage 50" > /dev/null
says "Cmd:set_default_active_thread_percentage 50" "$CUDA_MPS_LOG_DIRECTORY/control.log" || fail "root's command is not in the log"
