# By the directory of a server's namespace, NVML shows that namespace's limits, and those on the caller's cgroup.
. "$(dirname "$0")/lib.sh"
use_probe
smi=$bin/../libexec/nvidia-smi
[ -x "$smi" ] || skip "needs nvidia-smi"
export TUTTI_CPU_SMS=4 TUTTI_CPU_MEMORY=2G TUTTI_CPU_DEVICES=2
root=$CUDA_MPS_PIPE_DIRECTORY
seen() { CUDA_MPS_PIPE_DIRECTORY=$root$1 "$fakes/nvml_probe" | grep -o 'total_mib=[0-9]*\|sms=[0-9]*' | xargs; }

"$control" -d -p 3 > /dev/null
"$control" server create training --allowed-devices=1 > /dev/null
"$control" namespace create batch --server=training > /dev/null
"$control" namespace set batch --server=training --active-thread-percentage=50 --pinned-memory-limit=0=256M
before=$(seen /training/batch)
expect_in "the namespace's memory, before the server runs" "total_mib=256" "$before"
expect_in "and SMs" "sms=2" "$before"
CUDA_MPS_PIPE_DIRECTORY=$root/training/batch hold one "$probe" --allocate 8
expect "the same beside a program" "$before" "$(seen /training/batch)"

cgroup=$("$control" report | grep -o '"cgroup":"[^"]*"' | head -n 1 | cut -d'"' -f4)
if [ -n "$cgroup" ]; then
  "$control" memacct limit "$cgroup" --hard-limit=0=100M
  expect_in "what the cgroup may have" "total_mib=100" "$(seen /training/batch)"
fi
release one
wait "$holder"

# A daemon that hangs costs a while, and is said.
pid=$(daemon_pid)
kill -STOP "$pid"
status=0
timeout 100 "$smi" > "$work/out" 2>&1 || status=$?
kill -CONT "$pid"
expect "status beside a daemon that hangs" 9 "$status"
