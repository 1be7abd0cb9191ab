. "$(dirname "$0")/lib.sh"
use_probe

for flags in "-d" "-d -M" "-d -multiuser-server"; do
  # shellcheck disable=SC2086
  "$control" $flags || fail "$flags"
  expect_in "$flags serves" mps=1 "$("$probe")"
  ask 'quit -t 1'
done
"$control" -f > "$work/foreground" &
foreground=$!
until_true "-f listens" test -S "$CUDA_MPS_PIPE_DIRECTORY/control"
expect_in "-f serves" mps=1 "$("$probe")"
expect "-f stays the process that was started" $foreground "$(daemon_pid)"
ask 'quit -t 1'
wait $foreground || fail "exit status of -f"

# As a container's first process, which the runtime ends by SIGTERM.
if unshare --mount --pid --ipc --fork --mount-proc true 2> /dev/null; then
  unshare --mount --pid --fork --mount-proc --kill-child=TERM "$control" -f > "$work/container" &
  container=$!
  until_true "process 1 listens" says "Starting control daemon" "$work/container"
  expect_in "process 1 serves" mps=1 "$("$probe")"
  expect "its own process id" 1 "$(daemon_pid)"
  kill -TERM "$(cat "/proc/$container/task/$container/children")"
  wait $container || fail "exit status of process 1"
  rm -f "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
fi
