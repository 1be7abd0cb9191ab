. "$(dirname "$0")/lib.sh"
use_programs
tutti=$bin/tutti
examples=$bin/../examples
[ -x "$examples/demo" ] || skip "needs the examples"

shown=$("$tutti" demo --seconds 0.1 --output "$work/demo" 2>&1) || fail "the demo fails: $shown"
for row in 'each alone' 'no daemon' time_slice share; do
  grep -Eq "$row.* +[0-9]+ +[0-9.]+x" <<< "$shown" || fail "no time for \"$row\" in: $shown"
done
for row in no_daemon time_slice share; do
  grep -Pq "^$row\t[1-9][0-9]*\t[1-9][0-9]*$" "$work/demo/times.tsv" || fail "no time and memory for \"$row\" in: $(cat "$work/demo/times.tsv")"
done
grep -q '"traceEvents"' "$work/demo/trace.json" || fail "no trace in trace.json"
grep -q '<html' "$work/demo/timeline.html" || fail "no page in timeline.html"

# The demo reports a program with wrong results.
mkdir "$work/root" "$work/root/examples"
ln -s "$(readlink -f "$bin")" "$work/root/bin"
ln -s "$(readlink -f "$bin/../lib")" "$work/root/lib"
suffix=  # only those that the demo runs need to exist
[ -x "$examples/vector_add" ] || suffix=_driver
for program in vector_add matrix_multiply reduction mandelbrot n_body; do cp "$examples/$program$suffix" "$work/root/examples"; done
cp "$examples/demo" "$work/root/examples"
printf '#!/bin/sh\necho wrong; exit 1\n' > "$work/root/examples/histogram$suffix"
chmod +x "$work/root/examples/histogram$suffix"
status=0
shown=$("$work/root/examples/demo" --seconds 0.1 --output "$work/demo" 2>&1) || status=$?
expect "status with a wrong result" 1 "$status"
expect_in "who is named" histogram "$shown"
rm -rf "$(sed -n 's/.*the logs are in \(.*\)\/log$/\1/p' <<< "$shown")"

status=0
shown=$("$tutti" demo --output /proc/nowhere 2>&1) || status=$?
expect "status without a place to write" 1 "$status"
expect_in "what helps" --output "$shown"
