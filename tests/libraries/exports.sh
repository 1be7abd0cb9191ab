#!/usr/bin/env bash
# Every name of the vendor's library is one of ours, with the same version: exports.sh OURS THEIRS
set -euo pipefail
names() { nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort; }
missing=$(comm -13 <(names "$1") <(names "$2"))
[ -z "$missing" ] || { printf 'not in %s:\n%s\n' "$1" "$missing"; exit 1; }
