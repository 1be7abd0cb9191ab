. "$(dirname "$0")/lib.sh"
use_probe
tutti=$bin/tutti
[ -x "$tutti" ] || skip "needs tutti"
export TUTTI_CPU_DEVICES=2 TUTTI_CPU_MEMORY=1G TUTTI_CPU_SMS=8

! answer=$("$tutti" cdi generate 2>&1) || fail "without a daemon there is nothing to describe"
expect_in "names the socket" "$work/pipe/control" "$answer"
"$control" -d
"$tutti" cdi generate --threads 25 --memory 256Mi -o "$work/tutti.json"
[ ! -x "$bin/../libexec/nvidia-smi" ] || expect_in "mounts" /usr/bin/nvidia-smi "$(cat "$work/tutti.json")"
# As a container runtime applies it: the environment of all devices and of the requested one; mounts are mapped back here.
environment() { # environment DEVICE
  python3 - "$work/tutti.json" "$1" << 'EOF'
import json, sys
spec = json.load(open(sys.argv[1]))
mounts = {mount["containerPath"]: mount["hostPath"] for mount in spec["containerEdits"]["mounts"]}
device, = (device for device in spec["devices"] if device["name"] == sys.argv[2])
for line in spec["containerEdits"]["env"] + device["containerEdits"]["env"]:
    name, value = line.split("=", 1)
    print("%s=%s" % (name, mounts.get(value, value)))
EOF
}
unset CUDA_MPS_PIPE_DIRECTORY
mapfile -t variables < <(environment 1)
seen=$(env "${variables[@]}" "$probe")
expect "one device" 1 "$(wc -l <<< "$seen")"
expect_in "with a quarter of the SMs and the memory asked for" "sms=2 total_mib=256" "$seen"
expect_in "through the daemon" "mps=1" "$seen"
mapfile -t variables < <(environment all)
expect "all devices" 2 "$(env "${variables[@]}" "$probe" | wc -l)"
export CUDA_MPS_PIPE_DIRECTORY=$work/pipe

# The configuration of a claim of NVIDIA's DRA driver becomes the daemon's defaults.
cat > "$work/claim.yaml" << EOF
apiVersion: resource.nvidia.com/v1beta1
kind: GpuConfig
sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50, defaultPerDevicePinnedMemoryLimit: {"1": 512Mi}}}
EOF
"$tutti" cdi generate --gpu-config "$work/claim.yaml" > /dev/null
expect "the claim's percentage" 50.0 "$(ask get_default_active_thread_percentage)"
sed -i 's/"1"/"2"/' "$work/claim.yaml"
expect_in "a device the claim does not have" 'invalid device "2"' "$("$tutti" cdi generate --gpu-config "$work/claim.yaml" 2>&1 || true)"
sed -i 's/"2"/"1"/; s/50/60/; s/mpsConfig: {/&multiUser: true, /' "$work/claim.yaml"
expect_in "a daemon of another start" "asks for multiUser, but the daemon (process $(daemon_pid)) was started without -M" \
  "$("$tutti" cdi generate --gpu-config "$work/claim.yaml" 2>&1 || true)"
expect "and nothing of it is applied" 50.0 "$(ask get_default_active_thread_percentage)"
expect_in "a kind that is none" "is no CDI kind" "$("$tutti" cdi generate --kind gpu 2>&1 || true)"
