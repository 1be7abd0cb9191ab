. "$(dirname "$0")/lib.sh"
use_probe
tutti=$bin/tutti
[ -x "$tutti" ] || skip "needs tutti"
export TUTTI_CPU_DEVICES=2 TUTTI_CPU_MEMORY=1G TUTTI_CPU_SMS=2
"$control" -d
hold client "$probe" --allocate 300,100

# rows COLUMN: the client's values in a table's column, one per device
rows() { awk -v pid="$holder" -v column="$1" '$1 == pid { print $column, $(column + 1) }' | paste -sd ,; }
expect "memory in ps" "300.0 MiB,100.0 MiB" "$("$tutti" ps | rows 8)"
expect "memory in top" "300.0 MiB,100.0 MiB" "$("$tutti" top -n 1 -d 0.05 | rows 7)"
expect "devices in top" "0,1" "$("$tutti" top -n 1 -d 0.05 | awk -v pid="$holder" '$1 == pid { print $3 }' | paste -sd ,)"

answer=$("$tutti" recommend --seconds 1)
expect "devices in recommend" 2 "$(grep -c '^GPU-' <<< "$answer")"
for device in 0 1; do
  uuid=$(awk -v device=$device '$1 == device { print $2 }' "$work/client")
  row=$(grep "^${uuid:0:22}" <<< "$answer")
  expect_in "device $device, of which the client holds its own part" "$([ $device = 0 ] && echo 300 || echo 100) MiB of 1024" "$row"
done
