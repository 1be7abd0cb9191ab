. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_SMS=8 CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50

"$control" -d
hold client "$probe"
expect "percentage" 50.0 "$(ask "get_active_thread_percentage $holder")"
expect_in "SMs" sms=4 "$(cat "$work/client")"
