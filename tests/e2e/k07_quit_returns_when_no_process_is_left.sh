. "$(dirname "$0")/lib.sh"
use_probe

for _ in 1 2 3; do
  "$control" -d
  "$probe" > /dev/null
  [ "$(ours | wc -l)" -ge 2 ] || fail "the test needs a daemon and a server"
  echo quit | "$control"
  # Slurm's prolog checks next: any line of ps with the name sets the node DOWN.
  for pid in $(ours); do
    expect "process $pid after quit" "" "$(tr '\0' ' ' < "/proc/$pid/cmdline" | grep nvidia-cuda-mps || true)"
  done
done
