. "$(dirname "$0")/lib.sh"
use_programs
[ -x "$bin/tutti" ] && [ -e "$LD_LIBRARY_PATH/libtutti-keep-ptx.so" ] || skip "needs tutti and libtutti-keep-ptx.so"
unset XLA_FLAGS JAX_SKIP_CUDA_CONSTRAINTS_CHECK TORCHINDUCTOR_SHAPE_PADDING

# flags BEFORE: XLA's flags of a program, with BEFORE set
flags() { XLA_FLAGS=$1 "$bin/tutti" run -- sh -c 'echo "$XLA_FLAGS"'; }
expect "no flags" "--xla_gpu_autotune_level=0" "$(flags "")"
expect "flags of the user" "--xla_dump_to=/there --xla_gpu_autotune_level=0" "$(flags --xla_dump_to=/there)"
expect "a level of the user's" "--xla_gpu_autotune_level=4" "$(flags --xla_gpu_autotune_level=4)"
expect "a file of flags" /there/flags "$(flags /there/flags)"
expect "tutti run twice" "--xla_gpu_autotune_level=0" "$("$bin/tutti" run -- "$bin/tutti" run -- sh -c 'echo "$XLA_FLAGS"')"
expect "machine code left alone" "" "$(TUTTI_KEEP_PTX=0 "$bin/tutti" run -- sh -c 'echo "${XLA_FLAGS-}"')"
expect "no padded products" 0 "$("$bin/tutti" run -- sh -c 'echo "$TORCHINDUCTOR_SHAPE_PADDING"')"
expect "versions not checked" 1 "$("$bin/tutti" run -- sh -c 'echo "$JAX_SKIP_CUDA_CONSTRAINTS_CHECK"')"

# JAX asks for the file of a GPU's driver. One of Python that was compiled with -fno-plt is not reached.
[ ! -e /dev/nvidiactl ] || skip "the rest needs a machine without a GPU"
python3=$(python3 -c 'import sys; print(sys.executable)') || skip "the rest needs python3"
exists() { "$@" -c 'import os; print(*[os.path.exists("/dev/" + name) for name in ("nvidiactl", "nvidia0", "null")])'; }
expect "Python, started alone" "False False True" "$(exists "$python3")"
expect "Python, started by tutti run" "True False True" "$(exists "$bin/tutti" run -- "$python3")"
expect "another program" 1 "$("$bin/tutti" run -- sh -c '[ -e /dev/nvidiactl ]; echo $?')"
