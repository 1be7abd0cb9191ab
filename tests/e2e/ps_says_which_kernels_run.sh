# ps, top, JSON, and the log of the server that is told to end it name a kernel that never ends.
. "$(dirname "$0")/lib.sh"
use_endless_programs

"$control" -d
endless program loops_for_ever
row=$("$bin/tutti" ps --kernels | tail -1)
expect "a row of ps --kernels" "$endless $(id -un) 0 0 1 1" "$(xargs <<< "$row" | cut -d' ' -f1-3,5-7)"
expect_in "its kernel" " k " "$row"
expect_in "ps --json" '"kernels":[{"kernel":"k","grid":[1,1,1],' "$("$bin/tutti" ps --json)"
expect_in "top" "k 0/1 " "$("$bin/tutti" top -n 1 -d 0.05)"
server=$(ask get_server_list)
since=$(date +%s%N)
expect "terminate_client" 0 "$(ask "terminate_client $server $endless")"
ended_within_2_s program "$endless" "$since" "loops_for_ever"
expect_in "the log" "Client $endless on device 0 had running: kernel k, grid (1,1,1), 0 of 1 blocks done, 1 begun, for " "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
expect "ps --kernels afterwards" 1 "$("$bin/tutti" ps --kernels | wc -l)"
