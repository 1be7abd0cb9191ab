. "$(dirname "$0")/lib.sh"
use_programs
mkdir "$work/bin"
cp "$bin/tutti-server" "$work/bin/"
cat > "$work/bin/tutti-compiler" << END
#!/bin/sh
sleep 3
exec "$(readlink -f "$bin")/tutti-compiler" "\$@"
END
chmod +x "$work/bin/tutti-compiler"
export TUTTI_SERVER=$work/bin/tutti-server
reduction=$(program reduction)

TUTTI_CACHE_DIR=$work/one "$reduction" > "$work/out" 2> "$work/first" || fail "$(cat "$work/first")"
expect "lines" 1 "$(grep -c "compiling for the CPU: 0 kernels in 2 s, and now a module" "$work/first")"

# The next run finds them. So it would say nothing, however long it took.
TUTTI_CACHE_DIR=$work/one "$reduction" > "$work/out" 2> "$work/second" || fail "$(cat "$work/second")"
expect "the second run" "" "$(cat "$work/second")"

TUTTI_CACHE_DIR=$work/two TUTTI_QUIET=1 "$reduction" > "$work/out" 2> "$work/quiet" || fail "$(cat "$work/quiet")"
expect "a quiet run" "" "$(cat "$work/quiet")"
