. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=8G TUTTI_CPU_SMS=8

# What Skyward's mps plugin adds to its bootstrap: one bash script under `set -e` with an ERR trap, the image's variables
# exported first, output to a file.
cat > "$work/bootstrap.sh" <<END
#!/bin/bash
set -e
trap 'echo "{\"event\": \"bootstrap failed\", \"command\": \"\$BASH_COMMAND\"}"' ERR
export PATH="/root/.local/bin:$bin:\$PATH"
export CUDA_MPS_PIPE_DIRECTORY="$work/pipe"
export CUDA_MPS_LOG_DIRECTORY="$work/log"
export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="25"
export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=2G"
mkdir -p $work/pipe $work/log
nvidia-cuda-mps-control -d
echo bootstrap completed
END
nohup bash "$work/bootstrap.sh" > "$work/bootstrap.log" 2>&1
expect "bootstrap" "bootstrap completed" "$(grep -v nohup "$work/bootstrap.log")"
# A worker starts with none of these variables and sets them itself before CUDA does.
for _ in 1 2 3; do
  (unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    "$probe" --setenv "CUDA_MPS_PIPE_DIRECTORY=$work/pipe" --setenv CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 --setenv CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G) &
done > "$work/workers"
wait
expect "workers: 25% of 8 SMs, 2 GiB, shared" 3 "$(grep -c 'sms=2 total_mib=2048 .* mps=1' "$work/workers")"
ask quit

# In other phases the commands write to a pipe: its reader must reach the end without waiting for the daemon.
timeout 10 bash -c 'bash "$1" 2>&1 | sed "s/^/  /"' - "$work/bootstrap.sh" > "$work/piped" || fail "the daemon keeps its caller's pipe"
expect_in "through a pipe" "bootstrap completed" "$(cat "$work/piped")"
ask quit
if has_terminal; then
  timeout 10 script -qefc "bash $work/bootstrap.sh" /dev/null > "$work/terminal" < /dev/null || fail "on a terminal: $(cat "$work/terminal")"
  "$probe" > /dev/null || fail "the daemon ended with its terminal"
fi
