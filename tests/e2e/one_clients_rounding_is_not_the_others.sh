# Three programs round toward zero without end; a fourth rounds to nearest on the same SMs and gets the results it gets alone.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$fakes/rounding_program" ] || skip "needs libcuda.so.1"

export TUTTI_CPU_SMS=1
"$control" -d
for i in 1 2 3; do "$fakes/rounding_program" toward_zero > "$work/toward_zero.$i" 2>&1 & done
three_run() { [ "$(cat "$work"/toward_zero.* | grep -c running)" = 3 ]; }
until_true "three programs run" three_run
text=$("$fakes/rounding_program" to_nearest 100 2>&1) || fail "beside programs that round toward zero: $text"
expect_in "the program's answer" "0 of 100 rounds wrong" "$text"
