. "$(dirname "$0")/lib.sh"

"$control" -d
status=0
text=$(ask get_server_list) || status=$?
expect "status with no server" 0 $status
expect "output with no server" "" "$text"
ask quit
# Without a daemon: not 0, and at once; `timeout` turns a hang into 124.
for when in "after quit" "in a directory that is not there"; do
  status=0
  text=$(echo get_server_list | timeout 5 "$control" 2> "$work/stderr") || status=$?
  expect "status $when" 1 $status
  expect "output $when" "" "$text"
  expect "complaint $when" "Cannot find MPS control daemon process" "$(cat "$work/stderr")"
  export CUDA_MPS_PIPE_DIRECTORY=$work/nowhere
done
