# Each shell has one connection, all at the same time: every answer is right, in the order of the questions.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
commands=$(for i in $(seq 20); do echo "get_default_client_priority"; echo "nonsense$i"; done)
wanted=$(for i in $(seq 20); do echo 0; echo "Unknown command \"nonsense$i\""; done)
pids=()
for i in $(seq 64); do
  "$control" <<< "$commands" > "$work/shell$i" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "exit status of a shell"; done
for i in $(seq 64); do expect "answers of shell $i" "$wanted" "$(cat "$work/shell$i")"; done
