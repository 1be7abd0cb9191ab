# After the daemon has replaced its program, partitions keep their ids, SMs and clients.
. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_SMS=4

"$control" -d -S
id=$(ask "sm_partition add 0 3")
second=$(ask "sm_partition add 0 1")
CUDA_MPS_SM_PARTITION=$id hold held "$probe"
before=$(ask lspart)
pid=$(daemon_pid)
kill -USR2 "$pid"
until_true "the daemon goes on" says "of the previous program serves its clients" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "process" "$pid" "$(daemon_pid)"
expect "partitions" "$before" "$(ask lspart)"
expect_in "the next program in the partition" sms=3 "$(CUDA_MPS_SM_PARTITION=$id "$probe")"
expect "none is free" "Failed to fulfill the requested SM partition of 1 chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION" "$(ask "sm_partition add 0 1")"
expect_in "it stays while it is used" "has clients" "$(ask "sm_partition rm ${id%%/*} ${id##*/}")"
release held
wait "$holder"
removed() { [ -z "$(ask "sm_partition rm ${1%%/*} ${1##*/}")" ]; }
for partition in "$id" "$second"; do
  until_true "removed" removed "$partition"
done
expect "its SMs are free again" "4 0 4 0" "$(ask lspart | tail -n 1 | awk '{ print $3, $4, $5, $6 }')"
ask 'quit -t 0' || true

# Protocol 3 names partitions.
: > "$CUDA_MPS_LOG_DIRECTORY/control.log"
"$control" -d -p 3
"$control" server create training --uid="$(id -u)" > /dev/null
until_true "its server runs" says "Ready" "$CUDA_MPS_LOG_DIRECTORY/control.log"
"$control" sm-partition create large --server=training --device=0 --chunks=2 > /dev/null
before=$("$control" sm-partition list --server=training --format=csv,noheader)
: > "$CUDA_MPS_LOG_DIRECTORY/control.log"
kill -USR2 "$(daemon_pid)"
until_true "the daemon goes on" says "of the previous program serves its clients" "$CUDA_MPS_LOG_DIRECTORY/control.log"
until_true "its server is there again" says "Ready" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "named partitions" "$before" "$("$control" sm-partition list --server=training --format=csv,noheader)"
