# Under -S a program gets the SMs of the partition it names, and none without one.
. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_SMS=4

"$control" -d -S
expect_in "lspart" "GPU Partition free used" "$(ask lspart | xargs)"
id=$(ask "sm_partition add 0 3")
[[ "$id" =~ ^GPU-[0-9a-f-]{36}/[0-9A-Za-z]{36}$ ]] || fail "id of a partition: $id"
expect "no more than there is" "Failed to fulfill the requested SM partition of 2 chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION" "$(ask "sm_partition add 0 2")"
expect_in "a program in the partition" sms=3 "$(CUDA_MPS_SM_PARTITION=$id "$probe")"
short=$(cut -c 1-12 <<< "$id")/$(cut -d/ -f2 <<< "$id" | cut -c 1-6)
expect_in "by the start of its name" sms=3 "$(CUDA_MPS_SM_PARTITION=$short "$probe")"
expect "a program without" CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION "$("$probe" || true)"
expect "a program with a name that means nothing" CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION "$(CUDA_MPS_SM_PARTITION=GPU-ff/x "$probe" || true)"
CUDA_MPS_SM_PARTITION=$id hold held "$probe"
expect_in "in use" Yes "$(ask lspart)"
expect_in "it stays while it is used" "has clients" "$(ask "sm_partition rm ${id%%/*} ${id##*/}")"
release held
wait "$holder"
removed() { [ -z "$(ask "sm_partition rm ${id%%/*} ${id##*/}")" ]; }
until_true "removed" removed
expect "its SMs are free again" "4 0 4 0" "$(ask lspart | tail -n 1 | awk '{ print $3, $4, $5, $6 }')"
