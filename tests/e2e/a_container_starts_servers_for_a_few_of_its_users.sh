# Root of a container can take any user id, and each user has a server: the daemon limits how many it starts for one container.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for many users"
unshare --pid --fork true 2> /dev/null || skip "needs PID namespaces"
use_fakes

for protocol in 2 3; do
  TUTTI_SERVERS_PER_CONTAINER=8 "$control" -d -p $protocol
  # /proc is not the namespace's, so a leak sanitizer would find other processes there.
  # shellcheck disable=SC2016
  ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" unshare --pid --fork bash -c 'for user in $(seq 60001 60020); do setpriv --reuid $user --regid $user --clear-groups "$1"; done || true' \
    bash "$client" > "$work/told"
  expect "served" 8 "$(grep -c '^welcome$' "$work/told")"
  expect "told why not" 12 "$(grep -c '^refused .* servers run already that the container .*TUTTI_SERVERS_PER_CONTAINER' "$work/told")"
  expect "servers" 8 "$(pgrep -c -f "^$work/bin/nvidia-cuda-mps-server" || true)"
  expect "a user of the machine" welcome "$(as_user 54321 "$client")"
  ask 'quit -t 0' || fail "quit"
done
