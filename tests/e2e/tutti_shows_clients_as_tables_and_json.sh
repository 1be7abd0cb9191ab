. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G "$client" --hold > "$work/client" &
pid=$!
until_true "welcome" says welcome "$work/client"
expect_in "row of ps" "$pid $(id -un) $(ask get_server_list) 0 ACTIVE 100.0% 0.0% 0 B 1.0 GiB" "$("$bin/tutti" ps | tail -1 | xargs)"
expect_in "ps --json" "\"pid\":$pid," "$("$bin/tutti" ps --json)"
expect_in "top" "1 server, 1 client" "$("$bin/tutti" top -n 1 -d 0.05)"
expect_in "status" "server $(ask get_server_list), user $(id -un), ACTIVE, 1 client" "$("$bin/tutti" status | sed 's/process //g' | tr -s ' ')"
