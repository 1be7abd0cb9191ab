# buildah builds the Containerfiles on a Debian from debootstrap (without a registry), and runc runs them: the daemon is the
# container's first process, programs outside reach it through the shared pipe directory, SIGTERM ends it.
. "$(dirname "$0")/../e2e/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
for program in buildah runc; do command -v $program > /dev/null || skip "needs $program (./dev setup --e2e)"; done
command -v debootstrap > /dev/null || skip "needs debootstrap (./dev setup --package)"
use_probe
root=$(cd "$(dirname "$0")/../.." && pwd)
ls "$root"/build/package/tutti_*.deb > /dev/null 2>&1 || skip "needs the package (./dev package)"
. "$root/tools/common.sh"
. "$root/tests/package/debian.sh"
fail() { echo "FAILED: $*" >&2; exit 1; }
unset LD_LIBRARY_PATH
build() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
forget() { build rm --all > /dev/null 2>&1 || true; }
trap 'status=$?; set +e; forget; (exit $status); finish' EXIT

mkdir "$work/debian" "$work/mps"
fresh_debian "$work/debian"
base=$(build from scratch 2> /dev/null)
build add -q "$base" "$work/debian" / > /dev/null
build commit -q "$base" docker.io/library/debian:12-slim > /dev/null
rm -rf "$work/debian"
build bud -q --isolation chroot --pull-never -f "$root/packaging/container/Containerfile" -t tutti "$root/build/package" > "$work/build.log" 2>&1 ||
  { tail -n 20 "$work/build.log"; fail "the image is not built"; }
container=$(build from --pull-never localhost/tutti 2> /dev/null)
setting() { build inspect --format "$1" "$container"; }
expect "entry point" "[/usr/bin/nvidia-cuda-mps-control -f]" "$(setting '{{.OCIv1.Config.Entrypoint}}')"
expect_in "volume" /tmp/nvidia-mps "$(setting '{{.OCIv1.Config.Volumes}}')"

inside() { build run --isolation oci --runtime "$(command -v runc)" -v "$work/mps:/tmp/nvidia-mps" "$container" -- "$@"; }
inside /usr/bin/nvidia-cuda-mps-control -f > "$work/daemon" 2>&1 &
daemon=$!
until_true "its log is on stdout: $(cat "$work/daemon")" says "Starting control daemon" "$work/daemon"
expect "it is the first process" 1 "$(tr -d '\n' < "$work/mps/nvidia-cuda-mps-control.pid")"
expect "its health check" 100.0 "$(inside sh -c 'echo get_default_active_thread_percentage | tutti-control')"
export CUDA_MPS_PIPE_DIRECTORY=$work/mps
expect_in "a program outside" "mps=1" "$(LD_LIBRARY_PATH=$bin/../lib "$probe")"
# grep fails on a process that ends meanwhile.
first=$({ grep -lsz "^/usr/bin/nvidia-cuda-mps-control$" /proc/[0-9]*/cmdline || true; } | cut -d/ -f3 | while read -r pid; do
  if grep -qsF "$work/mps /tmp/nvidia-mps" "/proc/$pid/mountinfo" && [ "$(awk '/^NSpid/ { print $NF }' "/proc/$pid/status")" = 1 ]; then echo "$pid"; fi
done)
[ -n "$first" ] || fail "no first process: $(cat "$work/daemon")"
kill -TERM $first
until_true "it ends" gone "$daemon"
[ ! -e "$work/mps/control" ] || fail "its socket is left"

# The device plugin's image, of deployments/container: its programs find their libraries, and the plugin reads its manifest's
# configuration.
for part in bin lib; do mkdir -p "$work/context/build/release/$part" && cp -a "$bin/../$part/." "$work/context/build/release/$part"; done
build bud -q --isolation chroot --pull-never -f "$root/deployments/container/Containerfile" -t plugin "$work/context" > "$work/build.log" 2>&1 ||
  { tail -n 20 "$work/build.log"; fail "the plugin's image is not built"; }
container=$(build from --pull-never localhost/plugin 2> /dev/null)
expect "entry point" "[tutti-device-plugin]" "$(setting '{{.OCIv1.Config.Entrypoint}}')"
expect "libraries that are missing" "" "$(inside sh -c 'ldd /usr/local/tutti/bin/* /usr/local/tutti/lib/*' 2>&1 | grep 'not found' || true)"
sed -n '/config.yaml: |/,/^---/p' "$root/deployments/static/tutti-device-plugin.yaml" | sed '1d;$d;s/^    //' > "$work/mps/config.yaml"
expect_in "what it offers" "nvidia.com/gpu: 4 per device" "$(inside tutti-device-plugin --check --config-file /tmp/nvidia-mps/config.yaml)"
echo "image: the daemon's and the plugin's are built; the daemon was run, asked and ended"
