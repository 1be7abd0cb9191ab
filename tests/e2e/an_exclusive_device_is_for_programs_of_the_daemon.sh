. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_STATE_DIR=$work/state TUTTI_CPU_DEVICES=2
tutti=$bin/tutti

"$tutti" device mode 1 exclusive_process
status=0
CUDA_VISIBLE_DEVICES=1 "$probe" > "$work/alone" 2>&1 || status=$?
expect "status without a daemon" 1 $status
expect_in "error" CUDA_ERROR_DEVICE_UNAVAILABLE "$(cat "$work/alone")"
expect_in "log line" "no control daemon answers in $CUDA_MPS_PIPE_DIRECTORY: start tutti-control -d" "$(cat "$work/alone")"
CUDA_VISIBLE_DEVICES=0 "$probe" > /dev/null || fail "another device is exclusive, too"
"$control" -d
expect "with a daemon" "0 mode=0 1 mode=3" "$("$probe" | sort | awk '{ print $1, $6 }' | xargs)"

# The mode outlives the daemon; under the same daemon a change holds from the next program on.
ask 'quit -t 1'
"$control" -d
"$tutti" device mode all PROHIBITED > /dev/null
status=0
"$probe" > "$work/prohibited" 2>&1 || status=$?
expect "status of a prohibited device" 1 $status
expect_in "error" CUDA_ERROR_DEVICE_UNAVAILABLE "$(cat "$work/prohibited")"
expect_in "log line" "compute mode PROHIBITED" "$(cat "$work/prohibited")"
"$tutti" device mode all DEFAULT > /dev/null
"$probe" > /dev/null || fail "after DEFAULT"
expect_in "list" DEFAULT "$("$tutti" device | tail -n 1)"

# Root's.
[ "$(id -u)" = 0 ] || exit 0
as_user 65534 test -x "$tutti" || exit 0
status=0
as_user 65534 "$tutti" device mode 0 PROHIBITED > "$work/refused" 2>&1 || status=$?
expect "status of a user" 1 $status
expect_in "refusal" "set by root" "$(cat "$work/refused")"
