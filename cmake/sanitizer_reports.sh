# The last test of a sanitizer's build: sanitizer_reports.sh FOLDER. Shows the reports of all tests' processes since the
# last time, once, and fails if there are any.
set -eu
status=0
for report in "$1"/report.*; do
  [ -e "$report" ] || continue
  # False reports: threads that ended, or were not stopped, during the search for leaks; kernels, which are left on stacks
  # of their own.
  sed -i -e '/Unable to get registers from thread [0-9]*\.$/d' \
    -e '/Running thread [0-9]* was not suspended\. False leaks are possible\.$/d' \
    -e '/ASan is ignoring requested __asan_handle_no_return/,/sanitizers\/issues\/189/d' "$report"
  [ ! -s "$report" ] || status=1
  [ ! -s "$report" ] || echo "== $(basename "$report")"
  head -n 60 "$report"
  rm -f "$report"
done
exit $status
