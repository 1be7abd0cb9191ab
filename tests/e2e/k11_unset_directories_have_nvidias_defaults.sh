. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for directories of its own under the standard names"
unshare --mount true 2> /dev/null || skip "needs mount namespaces"

made=""
for directory in /tmp/nvidia-mps /var/log/nvidia-mps; do
  [ -d $directory ] || made+=" $directory"
  mkdir -p $directory
done
unshare --mount bash -euc '
  mount -t tmpfs -o mode=755 none /tmp/nvidia-mps
  mount -t tmpfs -o mode=755 none /var/log/nvidia-mps
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  "$0" -d
  ls /tmp/nvidia-mps /var/log/nvidia-mps
  echo quit | "$0"' "$control" > "$work/files" || fail "without the variables: $(cat "$work/files")"
for directory in $made; do rmdir $directory 2> /dev/null || true; done
for file in control control_lock control_privileged log nvidia-cuda-mps-control.pid control.log; do
  says "^$file\$" "$work/files" || fail "no $file in the standard directories"
done
