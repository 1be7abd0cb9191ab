. "$(dirname "$0")/lib.sh"

for command in ps status "top -n 1" "trace --seconds 0.01"; do
  status=0
  text=$("$bin/tutti" $command 2>&1) || status=$?
  expect "exit status of $command" 1 $status
  expect "lines of $command" 1 "$(wc -l <<< "$text")"
  expect_in "$command" "no control daemon answers in $CUDA_MPS_PIPE_DIRECTORY" "$text"
done
