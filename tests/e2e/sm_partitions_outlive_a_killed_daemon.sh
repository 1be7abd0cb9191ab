. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_SMS=4

"$control" -d -S
id=$(ask "sm_partition add 0 3")
ask "sm_partition add 0 1" > /dev/null
CUDA_MPS_SM_PARTITION=$id hold held "$probe"
before=$(ask lspart)
kill -KILL "$(daemon_pid)"
"$control" -d -S
expect "partitions" "$before" "$(ask lspart)"
expect_in "it stays while it is used" "has clients" "$(ask "sm_partition rm ${id%%/*} ${id##*/}")"
expect_in "the next program in the partition" sms=3 "$(CUDA_MPS_SM_PARTITION=$id "$probe")"
release held
wait "$holder"
until_true "removed" test -z "$(ask "sm_partition rm ${id%%/*} ${id##*/}")"
