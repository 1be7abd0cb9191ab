# Real containers, with containerd and runc; a kubelet stand-in asks the device plugin for each of them. Four hold one device
# with a quarter share each, in PID, IPC and mount namespaces of their own, one of them not as root; a fifth finds no replica, and
# one with the daemon's own directory is refused.
. "$(dirname "$0")/container_lib.sh"
command -v /usr/bin/python3 > /dev/null && /usr/bin/python3 -c 'import grpc' 2> /dev/null || skip "needs python3-grpcio"

start_containerd
make_image
mkdir -p /var/lib/kubelet/device-plugins
# The kubelet of tests/kubernetes: prints Allocate's answers as options for ctr, a line per container.
cat > "$work/ask.py" << EOF
import sys
sys.path[:0] = ["$here/tests/kubernetes", "$bin/../src/kubernetes"]
from kubelet import Kubelet
kubelet = Kubelet("/var/lib/kubelet/device-plugins")
print("listening", flush=True)
plugin = kubelet.plugin(60)
plugin.watch()
free = sorted(plugin.next_list())
for line in sys.stdin:
    ids = plugin.prefer(free, 1) if free else []
    free = [device for device in free if device not in ids]
    if not ids:
        print("none", flush=True)
        continue
    answer = plugin.allocate(ids)[0]
    words = ["--env=%s=%s" % item for item in answer.envs.items()]
    words += ["--mount=type=bind,src=%s,dst=%s,options=rbind:%s" % (m.host_path, m.container_path, "ro" if m.read_only else "rw") for m in answer.mounts]
    print(" ".join(words), flush=True)
EOF
coproc asker { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$work/ask.py" 2> "$work/ask.err"; }
asked() { read -r -u "${asker[0]}" answer || fail "the kubelet stand-in ended: $(cat "$work/ask.err")"; }
asked
start_plugin
options() { echo >&"${asker[1]}"; asked; }

for number in 1 2 3 4; do
  options
  [ "$answer" != none ] || fail "no replica for container $number: $(cat "$work/ask.err")"
  share=$answer user=0
  [ $number != 4 ] || user=65534
  # shellcheck disable=SC2086
  run_ctr run --snapshotter native $answer localhost/shares:1 "share$number-$$" \
    setpriv --reuid $user --regid $user --clear-groups sh -c 'id -u; device_probe; unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PINNED_DEVICE_MEM_LIMIT; echo unset: $(device_probe); vector_add --rounds 20; mkfifo /tmp/hold; sleep 1000000 > /tmp/hold & device_probe --hold < /tmp/hold' > "$work/share$number" 2>&1 &
done
for number in 1 2 3 4; do
  until_true "container $number holds its device: $(cat "$work/share$number")" says holding "$work/share$number"
  expect_in "a quarter of 8 SMs and of 1 GiB" "sms=2 total_mib=256" "$(cat "$work/share$number")"
  expect_in "the same for who unsets its limits" "sms=2 total_mib=256" "$(grep unset: "$work/share$number")"
  expect_in "a right result" "0 wrong" "$(cat "$work/share$number")"
done
options
expect "a fifth" none "$answer"
# The containers' processes have PID namespaces of their own; the daemon, on the host, knows them by the host's process ids.
four_measured() { [ "$(metrics | grep -c '^tutti_client_memory_used_bytes')" = 4 ]; }
until_true "four clients in the metrics" four_measured
expect "one of them is not root" 65534 "$(head -n 1 "$work/share4")"
# A container with the directory of all claims has none of them: neither by the daemon's own socket, nor by the claim it was
# allocated.
# shellcheck disable=SC2086
run_ctr run --rm --snapshotter native $share --mount "type=bind,src=$work/mps/nvidia.com/gpu/pipe,dst=/above,options=rbind:ro" localhost/shares:1 "above-$$" \
  sh -c 'CUDA_MPS_PIPE_DIRECTORY=/above device_probe; echo; device_probe' > "$work/above" 2>&1 || true
expect "who has the directory above, by the daemon's socket and by a claim's" 2 "$(grep -c '^CUDA_ERROR_NOT_PERMITTED' "$work/above")"
grep -h '^[0-9].*sms=' "$work"/share? | sort | uniq -c | sed 's/^ */  /'
echo "containers: four shared one device, a fifth got none, one with the directory above was refused"
exec {asker[1]}>&-  # ends the stand-in
wait "$asker_PID" || true
