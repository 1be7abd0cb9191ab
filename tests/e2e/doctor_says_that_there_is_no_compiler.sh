# A build without LLVM has none: GPUs need none, the CPU device does.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/bin"
cp "$bin/tutti" "$work/bin/"
for program in tutti-control tutti-server tutti-executor tutti-fence; do ln -s "$bin/$program" "$work/bin/"; done
doctor() { "$work/bin/tutti" doctor > "$work/out" 2>&1 || true; }

doctor
grep -q 'no tutti-compiler in .*, so the CPU device runs no kernels' "$work/out" || fail "$(cat "$work/out")"
export TUTTI_DEVICE=cuda
doctor
grep -q 'for GPUs alone: there is no tutti-compiler' "$work/out" || fail "$(cat "$work/out")"
ln -s "$bin/tutti-compiler" "$work/bin/"
doctor
if grep 'no tutti-compiler' "$work/out"; then fail "there is one"; fi
rm "$work/bin/tutti-fence"
doctor
grep -q 'tutti-fence missing in' "$work/out" || fail "$(cat "$work/out")"
