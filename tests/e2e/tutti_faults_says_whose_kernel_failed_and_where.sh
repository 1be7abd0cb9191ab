# `tutti faults` names program, kernel, thread, address and line of a fault, also after the program has ended.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$fakes/run_test" ] || skip "needs run_test"
cases=$(dirname "$0")/../run/cases
"$control" -d
"$fakes/run_test" "$cases/wild_address_is_an_illegal_address.ptx" > /dev/null || fail "the fault was not as expected"
table=$("$bin/tutti" faults)
for part in CUDA_ERROR_ILLEGAL_ADDRESS run_test "in kernel k" "thread (" "PTX line" 0x; do expect_in "tutti faults" "$part" "$table"; done
json=$("$bin/tutti" faults --json)
for part in '"status": 700' '"kernel": "k"' '"address"' '"ptx_line"' '"server"'; do expect_in "tutti faults --json" "$part" "$json"; done
