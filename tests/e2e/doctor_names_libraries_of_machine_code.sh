. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "the library that is preloaded has no sanitizer in it"
use_doctor
command -v objcopy > /dev/null || skip "needs objcopy"
export TUTTI_STATE_DIR=$work/state

# fatbin KIND ARCH: a fat binary with one entry of 8 bytes, machine code (kind 2) or PTX (kind 1); src/image/fatbin.h
fatbin() {
  printf '\x50\xed\x55\xba\x01\x00\x10\x00\x48\x00\x00\x00\x00\x00\x00\x00'
  printf "\\x$1"'\x00\x01\x01\x40\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00'
  printf '\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x08\x00'"\\x$2"'\x00\x00\x00'
  head -c 32 /dev/zero
  printf '.version'
}
library=$(ldd /bin/true | sed -n 's/.* => \(.*libc\.so[^ ]*\) .*/\1/p' | sed 's/libc\.so.*/libdl.so.2/')
[ -r "$library" ] || skip "needs libdl.so.2"
with_code() { objcopy --add-section "$1=$2" "$library" "$work/$3"; }

fatbin 02 50 > "$work/machine"
{ fatbin 02 5a; fatbin 01 4b; } > "$work/both"
with_code .nv_fatbin "$work/machine" libmachine.so.1
with_code .nv_fatbin "$work/both" libboth.so.2
LD_PRELOAD="$work/libmachine.so.1 $work/libboth.so.2" doctor /bin/true
expect_problem "$work/libmachine.so.1 has machine code for sm_80 only" "-gencode arch=compute_75,code=compute_75"
expect_in "a library with some PTX" "NOTE     $work/libboth.so.2 has PTX in 1 of 2 images, in the others machine code for sm_90 only" "$diagnosis"
LD_PRELOAD=$work/libmachine.so.1 doctor --json /bin/true
expect_in "as JSON" "\"code\":{\"file\":\"$work/libmachine.so.1\",\"images\":1,\"machine_code_for\":[80],\"not_looked_into\":0,\"ptx_for\":[],\"with_ptx\":0}" \
  "$(tr -d ' \n' <<< "$diagnosis")"

# Tools that make machine code as the program runs, by their names.
cp "$library" "$work/libnvrtc.so.13"
LD_PRELOAD=$work/libnvrtc.so.13 doctor /bin/true
expect_in "a compiler" "NOTE     $work/libnvrtc.so.13 makes machine code when the program runs" "$diagnosis"
expect_in "its remedy" "-lineinfo" "$diagnosis"

# A library can be asked about by itself. Relocatable code counts as its translation units.
with_code __nv_relfatbin "$work/both" relocatable
objcopy --add-section .nv_fatbin="$work/machine" "$work/relocatable"
doctor "$work/relocatable"
expect_in "relocatable code" "has PTX in 1 of 2 images, in the others machine code for sm_90 only" "$diagnosis"
