# What serves GPUs is built, and runs, where there is no LLVM: without_llvm.sh SOURCES BUILD.
set -eu
sources=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --preset gpu-host -S "$sources" -B "$work" -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_LLD=ON > "$work/log" 2>&1 || {
  tail -n 30 "$work/log"
  exit 1
}
ninja -C "$work" -t commands installed > "$work/commands"
for program in tutti-server tutti-executor tutti-fence tutti-control libcuda.so.1; do
  grep -q -e "-o [^ ]*/$program" "$work/commands" || { echo "$program is not built without LLVM"; exit 1; }
done
if grep -i -e 'llvm' -e 'bin/tutti-compiler' "$work/commands"; then
  echo "these commands of a build without LLVM name it"
  exit 1
fi
for part in bin/tutti-server bin/tutti-executor bin/tutti-fence bin/tutti-control lib/libcuda.so.1; do
  if ldd "$build/$part" | grep -i llvm; then
    echo "$part needs LLVM"
    exit 1
  fi
done
