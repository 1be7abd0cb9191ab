# Where clients do not reach the device's memory, as on a GPU, a load of device memory in host code ends the program, and a
# line says before which address and allocation it was. By default it works, as it always has on the CPU device.
. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "the run-time handles the signal first"
use_probe

touch_it() { "$probe" --touch 2> "$work/told" || echo "status $?"; }
"$control" -d
[ "${TUTTI_CPU_REACHABLE:-1}" = 0 ] || expect "by default" "touched 42" "$(touch_it | tail -n 1)"
ask 'quit -t 1'
TUTTI_CPU_REACHABLE=0 "$control" -d
expect "the program" "status 139" "$(touch_it | tail -n 1)"
expect_in "what it did" "host code reads or writes device memory at 0x" "$(cat "$work/told")"
expect_in "where" "byte 100 of the 4096 bytes allocated at 0x" "$(cat "$work/told")"
expect_in "what to do" "copy with cuMemcpy" "$(cat "$work/told")"
ask 'quit -t 1'
