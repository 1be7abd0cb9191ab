. "$(dirname "$0")/lib.sh"
use_doctor
command -v objcopy > /dev/null || skip "needs objcopy"
export TUTTI_STATE_DIR=$work/state

# A fat binary with one entry: 8 bytes of machine code for sm_80 (src/image/fatbin.h).
{
  printf '\x50\xed\x55\xba\x01\x00\x10\x00\x48\x00\x00\x00\x00\x00\x00\x00'
  printf '\x02\x00\x01\x01\x40\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00'
  printf '\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x08\x00\x50\x00\x00\x00'
  head -c 32 /dev/zero
  printf 'machines'
} > "$work/fatbin"
objcopy --add-section .nv_fatbin="$work/fatbin" /bin/true "$work/program"
doctor "$work/program"
expect_problem "sm_80" "-gencode arch=compute_75,code=compute_75"
