# A client chooses the names of kernels and of the files that PTX lines refer to: servers keep and print only a part.
. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$fakes/run_test" ] || skip "needs run_test"
long=$(printf 'x%.0s' $(seq 1000000))
case=$(cat "$(dirname "$0")/../run/cases/wild_address_is_an_illegal_address.ptx")
name=${long::100000}
case=${case//kernel: k/kernel: k$name}
case=${case//.entry k/.entry k$name}
case=${case//.address_size 64/.address_size 64$'\n'.file 1 \"$long.cu\"}
case=${case//st.global/.loc 1 7 0$'\n'st.global}
printf '%s\n' "$case" > "$work/long.ptx"
"$control" -d
"$fakes/run_test" "$work/long.ptx" > "$work/said" || fail "the fault was not as expected: $(cut -c1-300 "$work/said")"
[ "$("$bin/tutti" faults --json | wc -c)" -lt 16384 ] || fail "what is kept of a fault is as long as a client likes"
[ "$("$bin/tutti" faults | wc -c)" -lt 16384 ] || fail "what is said of a fault is as long as a client likes"
[ "$(stat -c %s "$CUDA_MPS_LOG_DIRECTORY/server.log")" -lt 16384 ] || fail "a fault fills the log"
expect_in "its line" ".cu:7)" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
