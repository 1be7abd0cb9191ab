# Silent connections, again and again, do not delay an upgrade; and no client loses its place: neither one that has sent nothing
# yet, nor one that comes by a claim, nor one that waits for its server.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
claim=$(ask "claim add one 0")
pid=$(daemon_pid)
"$client" --restless > "$work/restless" &
restless=$!
until_true "the silent one" says reconnecting "$work/restless"
touch "$work/quiet"
"$client" --after "$work/quiet" > "$work/early" &
CUDA_MPS_PIPE_DIRECTORY=$claim "$client" --after "$work/quiet" > "$work/early_by_claim" &
for one in early early_by_claim; do until_true "$one" says connected "$work/$one"; done
inode=$(stat -c %i "$claim/control")

cp "$control" "$control.new"
mv "$control.new" "$control"
ask upgrade
replaced() { [ "$(readlink "/proc/$pid/exe")" = "$control" ]; }
until_true "the new program runs" replaced
rm "$work/quiet"
for one in early early_by_claim; do until_true "$one is served by the new program" says welcome "$work/$one"; done
expect "the claim's socket is the one it was" "$inode" "$(stat -c %i "$claim/control")"
kill $restless

# A slow server: clients that wait for it are served after all.
ask 'quit -t 1'
touch "$work/go"  # not slow yet: the daemon asks a server for the devices
FAKE_SERVER=slow FAKE_SERVER_GO=$work/go "$control" -d
pid=$(daemon_pid)
claim=$(ask "claim add one 0")
rm "$work/go"
CUDA_MPS_PIPE_DIRECTORY=$claim "$client" > "$work/waits" &
until_true "it waits" says "push client to pending list" "$CUDA_MPS_LOG_DIRECTORY/control.log"
cp "$control" "$control.new"
mv "$control.new" "$control"
ask upgrade
until_true "the new program runs" replaced
touch "$work/go"
until_true "who waited is served: $(cat "$work/waits")" says welcome "$work/waits"
