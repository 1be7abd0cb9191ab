# Two clients stay while programs come and go, each with kernels of its own whose blocks wait for each other: the server frees
# their code, images, stacks and buffers.
. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "it keeps memory of its own"
use_probe
use_programs
export TUTTI_CACHE_DIR=$work/cache TUTTI_CPU_SMS=2
[ -x "$fakes/run_test" ] || skip "needs libcuda.so.1"
case=$(dirname "$0")/../run/cases/each_block_waits_for_the_one_before.ptx

"$control" -d
hold one "$probe"
hold other "$probe"
server=$(ask get_server_list)
anonymous_kib() { awk '/^RssAnon/ { print $2 }' "/proc/$server/status"; }
mappings() { wc -l < "/proc/$server/maps"; }
kib=$(anonymous_kib)
maps=$(mappings)
for number in $(seq 12); do
  { cat "$case"; echo "// program $number"; } > "$work/$number.ptx"
  "$fakes/run_test" "$work/$number.ptx" > "$work/program" 2>&1 || fail "program $number: $(cat "$work/program")"
done
# SMs free what they cache for their next blocks when they sleep.
holds_little() { [ "$(anonymous_kib)" -lt $((kib + 4096)) ] && [ "$(mappings)" -lt $((maps + 100)) ]; }
for _ in $(seq 100); do if holds_little; then break; fi; sleep 0.1; done
text="$(anonymous_kib) KiB of anonymous memory and $(mappings) mappings, $kib and $maps before the programs"
holds_little || fail "it holds $text"
echo "$text"
expect "the server" "$server" "$(ask get_server_list)"
release one
release other
wait
