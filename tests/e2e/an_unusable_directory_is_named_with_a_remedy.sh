. "$(dirname "$0")/lib.sh"
use_fakes

refused() { # refused WHAT PART: -d must fail with one line that has PART
  local status=0
  "$control" -d > "$work/out" 2>&1 || status=$?
  expect "$1: exit status" 1 $status
  expect "$1: lines" 1 "$(wc -l < "$work/out")"
  expect_in "$1" "$2" "$(cat "$work/out")"
}
export CUDA_MPS_PIPE_DIRECTORY=$work/$(printf 'x%.0s' $(seq 120))
refused "too long" "a Unix socket takes 107: use a shorter directory"
touch "$work/file"
export CUDA_MPS_PIPE_DIRECTORY=$work/file
refused "a file" "$work/file is not a directory: remove it or choose another one"
export CUDA_MPS_PIPE_DIRECTORY=/proc/nowhere
refused "cannot be made" "cannot make the directory /proc/nowhere"
# Without a log the daemon serves all the same.
export CUDA_MPS_PIPE_DIRECTORY=$work/pipe CUDA_MPS_LOG_DIRECTORY=$work/file
text=$("$control" -d 2>&1) || fail "a log directory that cannot be used kept the daemon from starting"
expect_in "log elsewhere" "$work/file is not a directory" "$text"
[ -f "$work/pipe/control.log" ] || fail "no log in the pipe directory"
