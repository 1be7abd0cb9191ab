# CUDA_MPS_PROTOCOL_VERSION overrides -p; a running daemon decides for every later shell.
. "$(dirname "$0")/lib.sh"
use_fakes

CUDA_MPS_PROTOCOL_VERSION=3 "$control" -d -p 2 > /dev/null
expect_in "protocol 3" "NAME" "$("$control" server list)"
expect_in "also for a shell that says 2" "NAME" "$(CUDA_MPS_PROTOCOL_VERSION=2 "$control" -p 2 server list)"
"$control" -q
until_true "ended" test ! -S "$CUDA_MPS_PIPE_DIRECTORY/control"
CUDA_MPS_PROTOCOL_VERSION=2 "$control" -d -p 3
expect "protocol 2" 'Unknown command "server"' "$("$control" server list)"
"$control" quit
complaint=$(CUDA_MPS_PROTOCOL_VERSION=banana "$control" -d 2>&1) && fail "a protocol that does not exist starts a daemon"
expect_in "the reason" 'control protocol "banana" (environment variable CUDA_MPS_PROTOCOL_VERSION) is unknown' "$complaint"
