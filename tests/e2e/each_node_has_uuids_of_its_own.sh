# UUIDs derive from /etc/machine-id, which the manifests mount into the pod that runs the servers.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for namespaces"
unshare --mount true 2> /dev/null || skip "needs mount namespaces"
use_probe
root=$(dirname "$0")/../..
for manifest in deployments/static/tutti-device-plugin.yaml deployments/helm/tutti/templates/daemon.yaml deployments/helm/tutti/templates/daemonset.yaml; do
  says "{name: machine-id, mountPath: /etc/machine-id, readOnly: true}" "$root/$manifest" || fail "$manifest does not mount the machine's id"
  says "{name: machine-id, hostPath: {path: /etc/machine-id, type: File}}" "$root/$manifest" || fail "$manifest has no volume for it"
done
[ -e /etc/machine-id ] || skip "needs a /etc/machine-id to put another one over"
uuid_on() { # uuid_on MACHINE_ID
  echo "$1" > "$work/machine-id"
  unshare --mount bash -euc 'mount --bind "$1" /etc/machine-id; exec "$2"' - "$work/machine-id" "$probe" | grep -oE 'GPU-[0-9a-f-]+'
}
one=$(uuid_on 11111111111111111111111111111111)
other=$(uuid_on 22222222222222222222222222222222)
[ "$one" != "$other" ] || fail "two machines have the device $one"
expect "the same machine again" "$one" "$(uuid_on 11111111111111111111111111111111)"
