# The answers of answers.tsv: those of NVIDIA's own daemon (release 535) to the same input, and our one line where it ignores
# a mistake.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
failed=0
while IFS=$'\t' read -r input answer; do
  case "$input" in '' | '#'*) continue ;; esac
  [ "$input" = EMPTY ] && input=$'\n'
  [ "$answer" = NOTHING ] && answer=
  got=$(printf '%s' "$input" | "$control") || { echo "exit status of \"$input\" is not 0" >&2; failed=1; }
  [ "$got" = "$answer" ] || { echo "\"$input\": wanted \"$answer\", got \"$got\"" >&2; failed=1; }
done < "$(dirname "$0")/answers.tsv"
exit $failed
