# Compares the exports of libcuda.so.1 with the committed list: exactly the driver's 637 names, and the one that distinguishes it
# from the vendor's library. Checks that it needs libc alone.
#   exports.sh LIBRARY LIST
set -eu
exported=$(mktemp)
trap 'rm -f "$exported"' EXIT
nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort > "$exported"
{ cat "$2"; echo tuttiVersion; } | LC_ALL=C sort | diff - "$exported" || { echo "exports differ from $2 (< expected, > exported)"; exit 1; }
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^ld-linux' || true)
# Nobody installs a sanitizer's build: it needs the run-time, and the libraries the run-time must see.
case "$needed" in *libclang_rt*) exit 0 ;; esac
if [ -n "$needed" ]; then
  echo "libcuda.so.1 needs more than libc: $needed"
  exit 1
fi
