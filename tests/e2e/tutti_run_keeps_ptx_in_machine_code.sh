. "$(dirname "$0")/lib.sh"
use_programs
program=$fakes/compiles_at_run_time
[ -x "$program" ] && [ -x "$bin/tutti" ] || skip "needs libcuda.so.1 and tutti"
[ -e "$LD_LIBRARY_PATH/libtutti-keep-ptx.so" ] || skip "needs libtutti-keep-ptx.so"

# made HOW MAKER LIBRARY: what the program says, started by HOW
made() { $1 "$program" "$2" "$3" 2> "$work/stderr" || true; }
for maker in nvrtc nvJitLink; do
  fake=$fakes/fake_code_makers/lib$maker.so.99
  expect "$maker, started alone" CUDA_ERROR_NO_BINARY_FOR_GPU "$(made "" $maker "$fake")"
  expect_in "the log" "tutti run" "$(cat "$work/stderr")"
  expect "$maker, started by tutti run" right "$(made "$bin/tutti run --" $maker "$fake")"
  expect "$maker, with PTX not asked for" CUDA_ERROR_NO_BINARY_FOR_GPU "$(TUTTI_KEEP_PTX=0 made "$bin/tutti run --" $maker "$fake")"
  real=/usr/local/cuda/lib64/lib$maker.so
  [ ! -e "$real" ] || expect "the toolkit's $maker, started by tutti run" right "$(made "$bin/tutti run --" $maker "$real")"
done
# ptxas is a program; this one says what it was asked for.
ptxas=$work/ptxas
cp /bin/echo "$ptxas"
expect "ptxas, started alone" "-v --gpu-name sm_80 in.ptx" "$("$ptxas" -v --gpu-name sm_80 in.ptx)"
expect "ptxas, started by tutti run" "-v --gpu-name sm_80 in.ptx -lineinfo" "$("$bin/tutti" run -- sh -c "'$ptxas' -v --gpu-name sm_80 in.ptx")"
expect "ptxas that keeps PTX" "-arch=sm_80 -g in.ptx" "$("$bin/tutti" run -- "$ptxas" -arch=sm_80 -g in.ptx)"
expect "ptxas that compiles nothing" "--list" "$("$bin/tutti" run -- "$ptxas" --list)"
expect "ptxas, with PTX not asked for" "-arch=sm_80" "$(TUTTI_KEEP_PTX=0 "$bin/tutti" run -- "$ptxas" -arch=sm_80)"
expect "another auditing library stays" "/other.so:$(readlink -f "$LD_LIBRARY_PATH/libtutti-keep-ptx.so")" \
  "$(LD_AUDIT=/other.so "$bin/tutti" run -- /bin/sh -c 'echo $LD_AUDIT' 2> /dev/null)"
