# A server that opens a file of its user's FUSE waits for that user, and not even SIGKILL ends it.
. "$(dirname "$0")/lib.sh"
use_fakes

mkdir "$work/mount"
"$fakes/mute_file" "$work/mount" > "$work/owner" &
owner=$!
until_true "a mount" grep -q . "$work/owner"
says mounted "$work/owner" || skip "$(cat "$work/owner")"
rm "$work/bin/tutti-server"
printf '#!/bin/sh\nexec cat "/proc/%s/root%s/mount/file"\n' "$owner" "$work" > "$work/bin/tutti-server"
chmod +x "$work/bin/tutti-server"

"$control" -d
daemon=$(daemon_pid)
"$client" > "$work/client" 2>&1 &
until_true "a server waits for the file" says asked "$work/owner"
status=0
TUTTI_SHELL_TIMEOUT=60 ask 'quit -t 0' || status=$?
until_true "the daemon has ended" gone "$daemon"
until_true "it says that it has left a server behind" says "leaves it behind" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "what quit says" 1 "$status"
kill "$owner"
