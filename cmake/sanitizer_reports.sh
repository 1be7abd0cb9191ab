# The last test of a sanitizer's build: sanitizer_reports.sh FOLDER. Shows what the processes of all tests have reported
# since the last time, once, and fails if there is anything.
set -eu
status=0
for report in "$1"/report.*; do
  [ -e "$report" ] || continue
  [ ! -s "$report" ] || status=1
  echo "== $(basename "$report")"
  head -n 60 "$report"
  rm -f "$report"
done
exit $status
