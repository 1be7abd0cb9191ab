. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_DEVICES=2 TUTTI_CPU_MEMORY=8G

"$control" -d
uuid=$("$probe" | awk '$1 == 1 { print $2 }')
ask 'quit -t 1'
"$control" -d
ask 'set_default_device_pinned_mem_limit 0 4606M'
ask "set_default_device_pinned_mem_limit $uuid 2G"
expect "by ordinal" total_mib=4606 "$("$probe" | awk '$1 == 0 { print $4 }')"
expect "by UUID" total_mib=2048 "$("$probe" | awk '$1 == 1 { print $4 }')"
expect "over the limit" CUDA_ERROR_OUT_OF_MEMORY "$("$probe" --allocate 4700 | tail -n 1)"
expect "below it" "allocated 4500" "$("$probe" --allocate 4500 | tail -n 1)"
