. "$(dirname "$0")/lib.sh"
use_fakes

FAKE_SERVER=fail "$control" -d
expect "client of a server that reports why" "refused 805 no device is usable" "$("$client" || true)"
ask quit || fail "quit: a server that failed long before is no reason"
FAKE_SERVER=exit "$control" -d
expect_in "client of a server that just ends" "exited with status 5 before it was ready" "$("$client" || true)"
# Starts back off; the clients wait and still get an answer.
expect_in "second client" "refused 805" "$("$client" || true)"
backs_off() { "$client" > /dev/null || says "waits .* ms after .* failures" "$CUDA_MPS_LOG_DIRECTORY/control.log"; }
until_true "back-off in the log" backs_off
rm "$work/bin/tutti-server" "$work/bin/nvidia-cuda-mps-server"
expect_in "client without a server program" "exited with status 127" "$("$client" || true)"
expect_in "server.log" "cannot execute" "$(cat "$CUDA_MPS_LOG_DIRECTORY/server.log")"
