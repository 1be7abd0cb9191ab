. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for namespaces"
unshare --mount --pid --ipc --fork --mount-proc true 2> /dev/null || skip "needs PID and mount namespaces"
use_probe
as_user 65534 test -x "$probe" || skip "the build directory is closed to other users"

# The daemon in a container of its own, as on Kubernetes; a client of another user in another container, with the pipe
# directory at another path and neither the daemon's /proc nor its /dev/shm.
unshare --mount --pid --fork --mount-proc --kill-child "$control" -f > "$work/foreground" 2>&1 &
until_true "socket" test -S "$CUDA_MPS_PIPE_DIRECTORY/control"
mkdir "$work/elsewhere" "$work/elsewhere/pipe"
unshare --mount --pid --ipc --fork --mount-proc --kill-child bash -euc '
  mount --bind "$1" "$2"
  mount -t tmpfs -o ro none /dev/shm
  export CUDA_MPS_PIPE_DIRECTORY=$2
  exec setpriv --reuid 65534 --regid 65534 --clear-groups "$3" --hold' \
  - "$CUDA_MPS_PIPE_DIRECTORY" "$work/elsewhere/pipe" "$probe" < <(sleep 2) > "$work/probe" 2>&1 &
until_true "served: $(cat "$work/probe")" says holding "$work/probe"
expect_in "by the daemon" mps=1 "$(cat "$work/probe")"
ps=$(ask ps)
expect_in "ps names the program" device_probe "$ps"
# ps shows the client's PID namespace, which is not the daemon's.
namespace=$(awk 'NR == 2 { print $5 }' <<< "$ps")
[[ "$namespace" =~ ^[0-9]+$ ]] || fail "no namespace in: $ps"
[ "$namespace" != "$(stat -L -c %i /proc/self/ns/pid)" ] || fail "the client's namespace is shown as ours"
until_true "served to its end" says "still served" "$work/probe"
ask 'quit -t 1'
