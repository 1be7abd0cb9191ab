#!/usr/bin/env bash
# libcufft.so.11 and .12 export each name of a toolkit's libcufft with its symbol version, and nothing but those and
# tuttiVersion. Without a toolkit: the two have the same names.
set -euo pipefail
names() { readelf --dyn-syms -W "$1" | awk '$5 == "GLOBAL" && $7 != "UND" { print $8 }' | sed 's/@.*//' | grep '^cufft' | sort; }
versioned() { readelf --dyn-syms -W "$1" | awk '$5 == "GLOBAL" && $7 != "UND" && $4 == "FUNC" { print $8 }' | grep '^cufft' | sort; }

for library in "$@"; do
  soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  [ "$soname" = "$(basename "$library")" ] || { echo "$library has the soname $soname"; exit 1; }
  if versioned "$library" | grep -v "@@$soname\$"; then echo "$library has names without the version $soname"; exit 1; fi
done
diff <(names "$1") <(names "$2")
[ "$(names "$1" | wc -l)" -gt 50 ]
for toolkit in /usr/local/cuda*/lib/libcufft.so.1? /usr/local/cuda*/lib64/libcufft.so.1?; do
  [ -e "$toolkit" ] || continue
  for library in "$@"; do
    [ "$(basename "$library")" != "$(basename "$toolkit")" ] || diff <(versioned "$toolkit") <(versioned "$library")
  done
done
