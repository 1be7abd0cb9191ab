# For containers.sh, kubelet.sh and cluster.sh: containerd in a private directory and mount namespace, an image with our test
# programs, a kubelet, the device plugin. The kubelet's directories are hard-wired, so a script that sources this executes itself
# again in a mount namespace where they are private.
[ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
for program in containerd ctr runc; do command -v $program > /dev/null || { echo "skipped: needs $program (./dev setup --e2e)"; exit 77; }; done
if [ -z "${TUTTI_PRIVATE_MOUNTS:-}" ]; then
  TUTTI_PRIVATE_MOUNTS=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/../e2e/lib.sh"
use_probe
program=$(program vector_add)
for name in tutti-device-plugin tutti-exporter; do
  [ -x "$bin/$name" ] || skip "needs $name, which is built where gRPC and its Python tools are (./dev setup, ./dev build)"
done
here=$(cd "$(dirname "$0")/../.." && pwd)
[ -z "${want_kubernetes:-}" ] || kubernetes=${TUTTI_KUBERNETES:-$("$here/tools/kubernetes" $want_kubernetes)} || exit 1
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY LD_LIBRARY_PATH
mkdir -p "$work"/{kubelet,log,manifests,image,mps} /var/lib/kubelet /run/containerd
mount -t tmpfs tmpfs /run/containerd
mount --bind "$work/kubelet" /var/lib/kubelet
mount --make-rshared /var/lib/kubelet
mount -t tmpfs tmpfs /var/log
mkdir -p /var/log/pods /var/log/containers /run/nvidia /run/tutti
for directory in /run/nvidia /run/tutti; do  # as in the manifests
  mount -t tmpfs tmpfs $directory
  mount --make-rshared $directory
done
runtime_socket=/run/containerd/containerd.sock
port=$((20000 + $$ % 20000))

end_containers() {
  set +e
  disown -a  # or the shell reports each process that is killed
  CUDA_MPS_LOG_DIRECTORY=$work/log  # for finish
  for pid in ${kubelet_pid:-} ${plugin_pid:-}; do kill -KILL "$pid" 2> /dev/null; done
  for task in $(run_ctr tasks ls -q 2> /dev/null); do run_ctr tasks delete --force "$task" > /dev/null 2>&1; done
  local pid left round
  for round in $(seq 50); do  # ending processes still write
    left=
    for pid in $(grep -ls "$work" /proc/[0-9]*/cmdline 2> /dev/null | cut -d/ -f3); do
      [ "$pid" = $$ ] || { kill -KILL "$pid" 2> /dev/null && left=yes; }
    done
    [ -n "$left" ] || break
    sleep 0.1
  done
  umount -R -l /var/lib/kubelet /run/nvidia /run/tutti 2> /dev/null
  rmdir /run/nvidia /run/tutti 2> /dev/null
  awk -v work="$work" 'index($2, work) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l 2> /dev/null
}
trap 'status=$?; set +e; [ $status -eq 0 ] || { tail -n 15 "$work"/plugin.log "$work"/kubelet.log "$work"/share* /var/log/pods/tutti_*/*/*.log >&2 2> /dev/null; }; end_containers; (exit $status); finish' EXIT

start_containerd() {
  cat > "$work/containerd.toml" << EOF
version = 2
root = "$work/containerd/root"
state = "$work/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.overlayfs"]
[grpc]
  address = "$runtime_socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
EOF
  containerd -c "$work/containerd.toml" > "$work/containerd.log" 2>&1 &
  until_true "containerd listens" run_ctr version
}
run_ctr() { ctr -a "$runtime_socket" -n k8s.io "$@"; }

# import_image ROOT CONFIG NAME...: makes images of the files in ROOT; CONFIG is the part of their configuration that says what runs.
import_image() {
  local root=$1 what=$2 sum config name
  shift 2
  tar -C "$root" -cf "$work/image/layer.tar" .
  sum=$(sha256sum < "$work/image/layer.tar" | cut -d' ' -f1)
  for name in "$@"; do
    config='{"architecture":"amd64","os":"linux","config":{'$what'},"rootfs":{"type":"layers","diff_ids":["sha256:'$sum'"]}}'
    printf '%s' "$config" > "$work/image/config.json"
    printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$name" > "$work/image/manifest.json"
    tar -C "$work/image" -cf "$work/image/image.tar" manifest.json config.json layer.tar
    run_ctr images import --snapshotter native "$work/image/image.tar" > /dev/null
  done
}
# with_libraries ROOT FILE...: copies the FILEs' libraries (but libcuda, which comes with the share), and busybox
with_libraries() {
  local root=$1 file library
  shift
  mkdir -p "$root"/{bin,tmp}
  chmod 1777 "$root/tmp"
  cp /bin/busybox "$root/bin/"
  for file in sh sleep cat id echo mkfifo cp; do ln -s busybox "$root/bin/$file"; done
  for library in $(ldd "$@" | grep -o '/[^ :]*' | grep -v libcuda | sort -u); do
    [ -f "$library" ] && case "$library" in *.so*) cp -L --parents "$library" "$root/" ;; esac
  done
}

# The plugin's image, with the layout of deployments/container/Containerfile.
make_plugin_image() {
  local root=$work/image/plugin name
  mkdir -p "$root"/usr/local/tutti/{bin,lib}
  for name in tutti-control tutti-server tutti-compiler tutti-executor tutti-fence tutti tutti-device-plugin tutti-exporter; do cp "$bin/$name" "$root/usr/local/tutti/bin/"; done
  ln -s tutti-control "$root/usr/local/tutti/bin/nvidia-cuda-mps-control"
  ln -s tutti-server "$root/usr/local/tutti/bin/nvidia-cuda-mps-server"
  cp "$bin/../lib/libcuda.so.1" "$root/usr/local/tutti/lib/"
  with_libraries "$root" "$root"/usr/local/tutti/bin/tutti*
  import_image "$root" '"Env":["PATH=/usr/local/tutti/bin:/bin"],"Entrypoint":["tutti-device-plugin"]' docker.io/library/tutti-device-plugin:latest
}

# One image for all pods: busybox and the programs.
make_image() {
  local root=$work/image/root
  mkdir -p "$root"/{bin,usr/local/nvidia/lib64,mps}
  cp "$(command -v setpriv)" "$root/bin/"
  cp "$probe" "$root/bin/device_probe"
  cp "$program" "$root/bin/vector_add"
  with_libraries "$root" "$root/bin/setpriv" "$probe" "$program" "$bin/../lib/libcuda.so.1"
  import_image "$root" '"Env":["PATH=/bin"],"Cmd":["/bin/sleep","1000000"]' localhost/pause:1 localhost/shares:1
}

start_kubelet() { # start_kubelet OPTIONS...
  cat > "$work/kubelet.yaml" << EOF
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
staticPodPath: $work/manifests
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
fileCheckFrequency: 1s
syncFrequency: 2s
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
address: 127.0.0.1
port: $port
readOnlyPort: $((port + 1))
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
EOF
  "$kubernetes/kubelet" --config "$work/kubelet.yaml" --container-runtime=remote --container-runtime-endpoint="unix://$runtime_socket" \
    --hostname-override=node1 "$@" >> "$work/kubelet.log" 2>&1 &
  kubelet_pid=$!
}

four_replicas='sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
tutti: {clientLibrary: {hostPath: '$(readlink -f "$bin/../lib")'}, mountShm: false, metricsAddress: "127.0.0.1:'$((port + 2))'"}'
start_plugin() { # start_plugin OPTIONS...; with $config its own configuration
  printf '%s\n' "${config:-$four_replicas}" > "$work/config.yaml"
  mkdir -p /var/lib/kubelet/device-plugins
  TUTTI_CPU_SMS=8 TUTTI_CPU_MEMORY=1G TUTTI_CACHE_DIR=$work/cache "$bin/tutti-device-plugin" --config-file "$work/config.yaml" --mps-root "$work/mps" \
    --runtime-socket "$runtime_socket" --pod-resources-socket /var/lib/kubelet/pod-resources/kubelet.sock "$@" >> "$work/plugin.log" 2>&1 &
  plugin_pid=$!
}
daemon_of_plugin() { cat "${mps_root:-$work/mps}/nvidia.com/gpu/pipe/nvidia-cuda-mps-control.pid"; }

# A pod that probes its device, computes something, prints "done", and stays.
pod() { # pod NAME [USER]
  cat << EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  containers:
  - name: main
    image: localhost/shares:1
    imagePullPolicy: Never
    securityContext: {runAsUser: ${2:-0}}
    command: [sh, -c, "device_probe; echo asked for all: \$(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G device_probe); vector_add --rounds 20; echo done; mkfifo /tmp/hold; sleep 1000000 > /tmp/hold & device_probe --hold < /tmp/hold"]
    resources: {limits: {nvidia.com/gpu: 1}}
EOF
}
pod_log() { cat /var/log/pods/default_"$1"*/main/*.log 2> /dev/null; }
pod_says() { pod_log "$1" | grep -q "$2"; }
metrics() { curl -fsS "http://127.0.0.1:$((port + 2))/metrics"; }
# within SECONDS WHAT COMMAND...: as until_true, for longer waits
within() {
  local seconds=$1 what=$2 end=$((SECONDS + $1))
  shift 2
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "not within $seconds s: $what"
    sleep 0.2
  done
}
