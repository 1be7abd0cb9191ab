# The capabilities that the manifests give the daemon in Kubernetes suffice, and each is needed.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to take capabilities away"
unshare --pid --fork --mount-proc true 2> /dev/null || skip "needs PID namespaces"
use_fakes
given="SETUID SETGID KILL"
root=$(dirname "$0")/../..
for manifest in deployments/static/tutti-device-plugin.yaml deployments/helm/tutti/templates/daemon.yaml deployments/helm/tutti/templates/daemonset.yaml; do
  expect "capabilities in $manifest" "drop: [ALL], add: [${given// /, }]" "$(sed -n 's/.*capabilities: {\(.*add.*\)}/\1/p' "$root/$manifest")"
  ! says "privileged: true" "$root/$manifest" || fail "$manifest has a privileged container"
done
# start CAPABILITY...: a daemon with these
start() {
  local bounds=-all one
  for one in "$@"; do bounds+=,+${one,,}; done
  setpriv --bounding-set="$bounds" --inh-caps=-all --no-new-privs "$control" -d
}
deaf_server_of() { # of user $1: a server that neither answers nor ends by itself
  : > "$work/deaf"  # what the one before said
  as_user "$1" "$client" --hold >> "$work/deaf" 2>&1 &
  until_true "a client of user $1: $(cat "$work/deaf")" says welcome "$work/deaf"
  deaf=$(ask get_server_list | tail -n 1)
  kill -STOP "$deaf"
}

start $given
expect "a client of root" welcome "$("$client")"
expect "a client of another user" welcome "$(as_user 54321 "$client")"
expect "root of a container" welcome "$(unshare --pid --fork --mount-proc "$client")"
expect_in "root of a container asks" "outside of containers" "$(echo quit | unshare --pid --fork --mount-proc "$control")"
expect "root asks" 50.0 "$(ask 'set_default_active_thread_percentage 50')"
deaf_server_of 54321
ask 'quit -t 0' || true
until_true "the stopped server was ended" gone "$deaf"

start SETGID KILL
expect_in "without SETUID" refused "$(as_user 54321 "$client" || true)"
ask 'quit -t 0' || true
start SETUID KILL
expect_in "without SETGID" refused "$(as_user 54321 "$client" || true)"
ask 'quit -t 0' || true
start SETUID SETGID
deaf_server_of 54321
printf 'quit -t 0' | TUTTI_SHELL_TIMEOUT=1 timeout 5 "$control" > /dev/null 2>&1 || true
gone "$deaf" && fail "without KILL the stopped server was ended all the same"
kill -KILL "$deaf"
