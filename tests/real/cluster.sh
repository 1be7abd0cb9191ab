# A real control plane (etcd, apiserver with RBAC, scheduler) and node (kubelet, containerd) run the pods of our manifest: the
# plugin labels and taints its node with only its service account; five pods ask for a quarter each, and the fifth is Pending
# until one of the four ends. The plugin crashes and is replaced, and nobody notices. There is no controller manager: this
# script makes the pods, not a Deployment or DaemonSet.
want_kubernetes=all
mps_root=/run/nvidia/mps
. "$(dirname "$0")/container_lib.sh"
for needed in etcd kubectl openssl; do command -v $needed > /dev/null || skip "needs $needed (./dev setup --e2e)"; done
api=https://127.0.0.1:$((port + 3))

# A kubeconfig for a bearer token; tokens.csv says which user it stands for.
kubeconfig() { # kubeconfig NAME TOKEN
  cat > "$work/$1.conf" << EOF
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "$api", certificate-authority: $work/account/ca.crt}}]
users: [{name: u, user: {token: $2}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
EOF
}
k() { HOME=$work kubectl --kubeconfig "$work/admin.conf" "$@"; }
field() { k get "$1" "$2" -o "jsonpath={$3}"; }

start_control_plane() {
  mkdir -p "$work/account"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=tutti-test -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$work/api.key" -out "$work/account/ca.crt" 2> /dev/null
  openssl genrsa -out "$work/accounts.key" 2048 2> /dev/null
  printf '%s\n' 'admin-token,admin,1,"system:masters"' 'node-token,system:node:node1,2,"system:nodes"' 'scheduler-token,system:kube-scheduler,3' > "$work/tokens.csv"
  kubeconfig admin admin-token
  kubeconfig node node-token
  kubeconfig scheduler scheduler-token
  etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$((port + 4))" --advertise-client-urls "http://127.0.0.1:$((port + 4))" \
    --listen-peer-urls "http://127.0.0.1:$((port + 5))" > "$work/etcd.log" 2>&1 &
  "$kubernetes/kube-apiserver" --etcd-servers="http://127.0.0.1:$((port + 4))" --bind-address=127.0.0.1 --secure-port=$((port + 3)) \
    --tls-cert-file="$work/account/ca.crt" --tls-private-key-file="$work/api.key" --cert-dir="$work/certificates" --token-auth-file="$work/tokens.csv" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$work/accounts.key" --service-account-signing-key-file="$work/accounts.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --feature-gates=BoundServiceAccountTokenVolume=true --allow-privileged \
    --service-cluster-ip-range=10.96.0.0/24 > "$work/apiserver.log" 2>&1 &
  within 60 "the apiserver is ready" k get --raw /readyz
  "$kubernetes/kube-scheduler" --kubeconfig="$work/scheduler.conf" --leader-elect=false --port=0 --secure-port=$((port + 6)) --bind-address=127.0.0.1 \
    --cert-dir="$work/certificates" --authentication-skip-lookup > "$work/scheduler.log" 2>&1 &
}

start_control_plane
start_containerd
make_image
make_plugin_image
start_kubelet --kubeconfig="$work/node.conf"
within 60 "the node is registered" k get node node1

# The manifest as a user applies it, with Cast AI's node template instead of its own configuration.
within 20 "the manifest is accepted" k apply -f "$here/deployments/static/tutti-device-plugin.yaml"
within 20 "the example is accepted" k apply -f "$here/deployments/static/four-pods.yaml"
checked() { # checked NAMESPACE NAME: the plugin accepts what this ConfigMap holds
  k -n "$1" get configmap "$2" -o 'jsonpath={.data.config\.yaml}' > "$work/checked.yaml"
  expect_in "the configuration in $1" "nvidia.com/gpu: 4 per device" "$("$bin/tutti-device-plugin" --check --config-file "$work/checked.yaml")"
}
checked tutti tutti-device-plugin
may() { k auth can-i "$@" --as=system:serviceaccount:tutti:tutti-device-plugin || true; }
expect "may the plugin patch its node" yes "$(may patch nodes 2> /dev/null)"
expect "may it read secrets" no "$(may get secrets 2> /dev/null)"
expect "may it delete nodes" no "$(may delete nodes 2> /dev/null)"
. "$here/tests/real/chart/chart.sh"

config='{"name": "gpu-jobs", "shouldTaint": true, "gpu": {"sharingStrategy": "GPU_SHARING_STRATEGY_MPS", "defaultSharedClientsPerGpu": 4},
  "tutti": {"startDaemon": false, "clientLibrary": {"hostPath": "/run/tutti/lib"}, "nodeApi": true, "metricsAddress": "127.0.0.1:'$((port + 2))'"}}'
k -n tutti create configmap tutti-device-plugin --from-literal=config.yaml="$config" --dry-run=client -o yaml | k apply -f - 2> /dev/null > /dev/null

# A controller manager's part: the namespace's account, and the certificate that goes with its token.
for namespace in default tutti; do
  k -n $namespace create configmap kube-root-ca.crt --from-file=ca.crt="$work/account/ca.crt" > /dev/null
  k -n $namespace create serviceaccount default > /dev/null
done
# start_daemonset NAME: makes the pod that a DaemonSet's controller would, on the host's network since there is no other.
start_daemonset() {
  k -n tutti get daemonset "$1" -o json | python3 -c '
import json, sys
template = json.load(sys.stdin)["spec"]["template"]
spec, container = template["spec"], template["spec"]["containers"][0]
spec.update(nodeName="node1", hostNetwork=True)
spec["tolerations"].append({"key": "node.kubernetes.io/not-ready", "operator": "Exists"})
container["args"] += sys.argv[2:]
container["env"] = container.get("env", []) + [{"name": "TUTTI_CPU_SMS", "value": "8"}, {"name": "TUTTI_CPU_MEMORY", "value": "1G"}]
json.dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": sys.argv[1], "namespace": "tutti"}, "spec": spec}, sys.stdout)' "$@" |
    k apply -f - > /dev/null
}
start_daemonset tutti-control-daemon
start_daemonset tutti-device-plugin --api-server="$api"
plugin_log() { cat /var/log/pods/tutti_tutti-device-plugin*/plugin/*.log; }
plugin_says() { plugin_log | grep -q "$1"; }
within 60 "the plugin has registered" plugin_says "Registered device plugin"
allocatable() { [ "$(field node node1 .status.allocatable.nvidia\\.com/gpu)" = 4 ]; }
within 30 "four are allocatable" allocatable
expect "capacity" 4 "$(field node node1 .status.capacity.nvidia\\.com/gpu)"
labelled() { [ "$(field node node1 .metadata.labels.scheduling\\.cast\\.ai/gpu-shared)" = 4 ]; }
within 30 "the node is labelled" labelled
expect "strategy" mps "$(field node node1 .metadata.labels.scheduling\\.cast\\.ai/gpu-sharing-strategy)"
expect "template" gpu-jobs "$(field node node1 .metadata.labels.scheduling\\.cast\\.ai/node-template)"
expect "label of feature discovery" true "$(field node node1 .metadata.labels.nvidia\\.com/mps\\.capable)"
expect_in "taint" '"key":"scheduling.cast.ai/node-template","value":"gpu-jobs"' "$(field node node1 .spec.taints)"
k get node node1 -o json | python3 -c '
import json, sys
node = json.load(sys.stdin)
for key, value in sorted(node["metadata"]["labels"].items()):
    if "nvidia" in key or "cast.ai" in key: print("  label", key + "=" + value)
for taint in node["spec"]["taints"]:
    if "cast.ai" in taint["key"]: print("  taint", taint["key"] + "=" + taint["value"] + ":" + taint["effect"])'

# A pod that tolerates the template's taint and a node without network, and no other taint.
job() { # job NAME [USER]
  pod "$@" | sed 's|tolerations: .*|tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}, {key: scheduling.cast.ai/node-template, operator: Exists}]\
  restartPolicy: Never\
  nodeSelector: {scheduling.cast.ai/gpu-shared: "4"}|'
}
for number in 1 2 3; do job "share$number" | k apply -f - > /dev/null; done
job share4 65534 | k apply -f - > /dev/null
for number in 1 2 3 4; do
  within 90 "pod share$number holds its device" pod_says "share$number" holding
  expect_in "a quarter of 8 SMs and of 1 GiB" "sms=2 total_mib=256" "$(pod_log "share$number")"
  expect_in "no more for who asks for all" "asked for all: $(pod_log "share$number" | grep -o -m 1 "0 GPU-.* sms=2 total_mib=256 ")" "$(pod_log "share$number")"
  expect_in "a right result" "0 wrong" "$(pod_log "share$number")"
done
job fifth | k apply -f - > /dev/null
job stranger | sed 's|, {key: scheduling.cast.ai/node-template, operator: Exists}||' | k apply -f - > /dev/null
waits() { k get pod "$1" -o json | grep -q "$2"; }
within 30 "the fifth waits" waits fifth "Insufficient nvidia.com/gpu"
within 30 "a pod that does not tolerate the taint waits as well" waits stranger "had taint {scheduling.cast.ai/node-template: gpu-jobs}"
expect "phase of the fifth" Pending "$(field pod fifth .status.phase)"
k get pods -o custom-columns=POD:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName,WHY:.status.conditions[0].message | sed 's/^/  /'

client() { metrics | sed -n 's/.*tutti_client_memory_used_bytes{.*pid="\([0-9]*\)".*pod="'"$1"'".*/\1/p'; }
measured() { [ -n "$(client share2)" ]; }
until_true "its client is in the metrics" measured
kill -KILL "$(client share2)"
within 60 "the fifth runs when one has ended" pod_says fifth holding
expect_in "with the share that was free" "sms=2 total_mib=256" "$(pod_log fifth)"
k get pods -o custom-columns=POD:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName | sed 's/^/  /'

# A plugin that crashes, and one that is replaced, disturb nobody.
clients() { for pod in share1 share3 share4 fifth; do client $pod; done; }
all_measured() { [ "$(clients | wc -l)" = 4 ]; }
within 20 "four clients are in the metrics" all_measured
before=$(clients)
kill -KILL "$(ps -eo pid,args | awk '$2 ~ /tutti-device-plugin$/ && /config-file/ { print $1 }')"
registered_times() { [ "$(plugin_log | grep -c "Registered device plugin")" = "$1" ]; }
within 60 "the plugin has registered again" registered_times 2
within 20 "four clients are in the metrics" all_measured
expect "the clients, after a crash of the plugin" "$before" "$(clients)"
k -n tutti delete pod tutti-device-plugin > /dev/null
start_daemonset tutti-device-plugin --api-server="$api"
within 60 "a new plugin has registered" registered_times 1
within 20 "four clients are in the metrics" all_measured
expect "the clients, after the plugin was replaced" "$before" "$(clients)"

kill -KILL "$(daemon_of_plugin)"
within 20 "the devices are unhealthy, and healthy again" plugin_says "is healthy again"
within 30 "and allocatable" allocatable
echo "cluster: labels, taint and capacity are on the node; the fifth pod was Pending and ran when one of four had ended"
