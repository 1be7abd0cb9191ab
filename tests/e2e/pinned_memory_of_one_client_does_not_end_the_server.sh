. "$(dirname "$0")/lib.sh"
use_probe
skip_with_sanitizer "its run-time takes the memory that is limited here"

# The server runs in a cgroup of 1 GiB, which is charged for the memory that the server touches first.
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  cgroup=$root/tutti-e2e.$$
  mkdir "$cgroup" 2> /dev/null || continue
  for limit in memory.limit_in_bytes memory.max; do
    if [ -e "$cgroup/$limit" ] && echo $((1 << 30)) > "$cgroup/$limit"; then limited=1; break 2; fi
  done
  rmdir "$cgroup"
done
[ -n "${limited:-}" ] || skip "needs to make a cgroup with a memory limit"

export TUTTI_CPU_MEMORY=256M
bash -c "echo \$\$ > $cgroup/cgroup.procs; exec \"$control\" -d"
hold bystander "$probe"
bystander=$holder
server=$(ask get_server_list)
text=$("$probe" --pin) && fail "it got all memory there is: $text"
expect "how it ended" CUDA_ERROR_OUT_OF_MEMORY "$(tail -n 1 <<< "$text")"
pinned=$(sed -n 's/^pinned //p' <<< "$text")
[ "$pinned" -ge 64 ] || fail "it got next to nothing: $text"
expect "the server" "$server" "$(ask get_server_list)"
release bystander
wait "$bystander"
expect "the bystander" "still served" "$(tail -n 1 "$work/bystander")"
ask 'quit -t 0'
until_true "the cgroup is empty" rmdir "$cgroup"
