# The last test of a sanitizer's build: sanitizer_reports.sh FOLDER. Shows what the processes of all tests have reported
# since the last time, once, and fails if there is anything.
set -eu
status=0
for report in "$1"/report.*; do
  [ -e "$report" ] || continue
  # A thread that ended while leaks were looked for is no finding.
  sed -i '/Unable to get registers from thread [0-9]*\.$/d' "$report"
  [ ! -s "$report" ] || status=1
  echo "== $(basename "$report")"
  head -n 60 "$report"
  rm -f "$report"
done
exit $status
