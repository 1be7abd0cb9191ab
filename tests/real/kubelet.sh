# A real kubelet and containerd: four static pods run a CUDA program on one CPU device with a quarter share each, a fifth is
# refused; the kubelet restarts; the daemon is killed.
want_kubernetes=kubelet
. "$(dirname "$0")/container_lib.sh"

start_containerd
make_image
start_kubelet
start_plugin
until_true "the plugin has registered" says "Registered device plugin" "$work/plugin.log"
status() { curl -fsS "http://127.0.0.1:$((port + 1))/pods" | python3 -c '
import json, sys
for pod in json.load(sys.stdin)["items"]:
    status = pod["status"]
    print(pod["metadata"]["name"], status.get("phase"), status.get("reason", ""), status.get("message", ""))'; }
# The last of them does not run as root.
for number in 1 2 3; do pod "share$number" > "$work/manifests/share$number.yaml"; done
pod share4 65534 > "$work/manifests/share4.yaml"
for number in 1 2 3 4; do
  within 60 "pod share$number holds its device" pod_says "share$number" holding
  expect_in "a quarter of 8 SMs and of 1 GiB" "sms=2 total_mib=256" "$(pod_log "share$number")"
  expect_in "no more for who asks for all" "asked for all: $(pod_log "share$number" | grep -o -m 1 "0 GPU-.* sms=2 total_mib=256 ")" "$(pod_log "share$number")"
  expect_in "a right result" "0 wrong" "$(pod_log "share$number")"
done
measured() { metrics | grep 'tutti_client_active_thread_ratio.*pod="share4' | grep 'vgpu='; }
until_true "the last one is in the metrics, by the name of its pod" measured
pod fifth > "$work/manifests/fifth.yaml"
until_true "the fifth is refused" bash -c "curl -fsS http://127.0.0.1:$((port + 1))/pods | grep -q 'requested number of devices unavailable\|UnexpectedAdmissionError\|OutOfnvidia'"
status | sed 's/^/  /'
rm "$work/manifests/fifth.yaml"

kill -KILL "$kubelet_pid"
wait "$kubelet_pid" 2> /dev/null || true
: > "$work/plugin.log"
start_kubelet
until_true "the plugin has registered with the new kubelet" says "Registered device plugin" "$work/plugin.log"
until_true "and the pods run on" bash -c "curl -fsS http://127.0.0.1:$((port + 1))/pods | grep -q share4"
expect "no container was started again" 4 "$(find /var/log/pods -name '*.log' -path '*share*' | wc -l)"

kill -KILL "$(daemon_of_plugin)"
until_true "the devices are unhealthy" says "unhealthy, with all its replicas" "$work/plugin.log"
until_true "and healthy again with the next daemon" says "is healthy again" "$work/plugin.log"
echo "kubelet: four pods shared one device, a fifth was refused; kubelet and daemon were replaced"
