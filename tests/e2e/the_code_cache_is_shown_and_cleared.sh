. "$(dirname "$0")/lib.sh"
use_programs
export TUTTI_CACHE_DIR=$work/cache
expect_in "before the first program" "the code cache $work/cache is empty" "$("$bin/tutti" cache)"
reduction=$(program reduction)
"$reduction" > "$work/out" 2>&1 || fail "$(cat "$work/out")"
expect "entries of the folder that is named" "$("$bin/tutti" cache --json)" \
  "$(TUTTI_CACHE_DIR=/nonexistent "$bin/tutti" cache --folder "$work/cache" --json)"
entries() { "$bin/tutti" cache --json | sed -n 's/.*"entries": \([0-9]*\).*/\1/p'; }
first=$(entries)
[ "$first" -ge 2 ] || fail "a module and a kernel were compiled, and $first entries are there"
expect_in "what is shown" "$work/cache: $first entries of modules and kernels, " "$("$bin/tutti" cache)"
expect_in "what is cleared" "removed from the code cache $work/cache: $first entries" "$("$bin/tutti" cache --clear)"
expect "entries" 0 "$(entries)"
"$reduction" > "$work/out" 2>&1 || fail "$(cat "$work/out")"
expect "entries of the next run" "$first" "$(entries)"

# What is kept is the compiler's: another server finds it.
mkdir "$work/bin"
cp -p "$bin/tutti-server" "$bin/tutti-compiler" "$work/bin/"
run_there() { TUTTI_SERVER=$work/bin/tutti-server "$reduction" > "$work/out" 2>&1 || fail "$(cat "$work/out")"; }
run_there
kept=$(entries)
cp -p "$work/bin/tutti-server" "$work/changed"  # the last server may still be there
printf changed >> "$work/changed"
mv "$work/changed" "$work/bin/tutti-server"
run_there
expect "entries after the server has changed" "$kept" "$(entries)"
touch -d '2001-01-01' "$work/bin/tutti-compiler"
run_there
[ "$(entries)" -gt "$kept" ] || fail "another compiler used what the one before had made"

HOME= XDG_CACHE_HOME= TUTTI_CACHE_DIR=/proc/version "$bin/tutti" cache > "$work/out" 2>&1 && fail "a file is no cache"
expect_in "why not" "cannot read the code cache /proc/version" "$(cat "$work/out")"
