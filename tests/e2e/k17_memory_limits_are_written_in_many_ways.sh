. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_DEVICES=2 TUTTI_CPU_MEMORY=16G

"$control" -d
totals() { CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=$1 "$probe" | sort | awk '{ print $4 }' | xargs; }
expect "0=2G" "total_mib=2048 total_mib=16384" "$(totals 0=2G)"
expect "0=8192M" "total_mib=8192 total_mib=16384" "$(totals 0=8192M)"
expect "0=1G,1=512MB" "total_mib=1024 total_mib=512" "$(totals 0=1G,1=512MB)"
# An unreadable value limits nothing, and the program is told.
expect banana "total_mib=16384 total_mib=16384" "$(totals banana 2> "$work/told")"
expect_in "what the program is told" banana "$(cat "$work/told")$(control_log)"
