. "$(dirname "$0")/lib.sh"
use_probe
tutti=$bin/tutti
[ -x "$tutti" ] || skip "needs tutti"
export TUTTI_CPU_MEMORY=1G
"$control" -d
hold client "$probe" --allocate 300
answer=$("$tutti" recommend --seconds 1 --json)
expect_in "three times 300 MiB fit in 1 GiB" '"clients": 3' "$answer"
expect_in "and memory is the reason" "memory: the largest client holds 300 MiB of 1024" "$answer"
