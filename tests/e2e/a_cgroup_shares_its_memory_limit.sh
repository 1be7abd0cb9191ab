# `memacct limit` holds for all programs of a cgroup together; with `set_limit_scope container` a client's own limit does.
. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=1G

"$control" -d -p 3
hold first "$probe" --allocate 200
first=$holder
cgroup=$("$control" report | grep -o '"cgroup":"[^"]*"' | head -n 1 | cut -d'"' -f4)
[ -n "$cgroup" ] || skip "needs /proc/PID/cgroup"
release first
wait "$first"
"$control" memacct limit "$cgroup" --hard-limit=0=300M
hold second "$probe" --allocate 200
expect_in "within the limit" "allocated 200" "$(cat "$work/second")"
expect "together above it" CUDA_ERROR_OUT_OF_MEMORY "$("$probe" --allocate 200 | tail -n 1)"
expect "up to it" "allocated 90" "$("$probe" --allocate 90 | tail -n 1)"
release second
wait "$holder"
"$control" quit -t 0 || true

[ "$cgroup" != / ] || { echo "not tried: container scope, since this process is in the root cgroup"; exit 0; }
export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=300M
"$control" -d
hold alone "$probe" --allocate 200
expect "each process has its own limit" "allocated 200" "$("$probe" --allocate 200 | tail -n 1)"
release alone
wait "$holder"
ask "set_limit_scope container"
hold together "$probe" --allocate 200
expect "the container's programs share one" CUDA_ERROR_OUT_OF_MEMORY "$("$probe" --allocate 200 | tail -n 1)"
