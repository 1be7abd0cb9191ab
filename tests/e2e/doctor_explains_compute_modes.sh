. "$(dirname "$0")/lib.sh"
use_doctor
export TUTTI_STATE_DIR=$work/state

"$tutti" device mode 0 EXCLUSIVE_PROCESS > "$work/set"
uuid=$(cut -d: -f1 "$work/set")
doctor
expect_problem "device $uuid is in compute mode EXCLUSIVE_PROCESS" "tutti-control -d"
"$control" -d
doctor
expect "exit status with a daemon: $diagnosis" 0 $status
"$tutti" device mode "$uuid" PROHIBITED > /dev/null
doctor
expect_problem "device $uuid is in compute mode PROHIBITED" "tutti device mode $uuid DEFAULT"
