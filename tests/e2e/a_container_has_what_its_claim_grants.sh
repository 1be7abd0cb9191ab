# A container gets the claim's directory alone: it has nothing to unset, and no other directory to choose.
. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_DEVICES=3 TUTTI_CPU_MEMORY=1G TUTTI_CPU_SMS=4
"$control" -d
mapfile -t uuids < <("$probe" | sort -n | awk '{ print $2 }')
expect "devices without a claim" 3 ${#uuids[@]}
one=$(ask "claim add pod_one ${uuids[1]} threads=50 memory=${uuids[1]}=256M")
two=$(ask "claim add pod_two ${uuids[2]},0")
expect "where a claim is" "$work/pipe/claims/pod_one" "$one"
# A claim cannot grant what does not exist.
for words in "7" "0,7" "0 memory=7=1G"; do
  status=0
  answer=$("$control" claim add pod_none $words 2>&1) || status=$?
  expect "status of a claim on a device that is not there" 1 "$status"
  expect_in "which, and which are there" "there is no device 7: this daemon has 0 (${uuids[0]}), 1 (${uuids[1]}), 2" "$answer"
done
expect "claims" 2 "$(ask "claim list" | wc -l)"
in_one() { env CUDA_MPS_PIPE_DIRECTORY="$one" "$@"; }

# The claim decides devices and limits, whatever the program asks for.
expect "devices of the claim" "0 ${uuids[1]} sms=2 total_mib=256" "$(in_one "$probe" | cut -d' ' -f1-4)"
expect "more was asked for" "0 ${uuids[1]} sms=2 total_mib=256" \
  "$(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=1=1G in_one "$probe" | cut -d' ' -f1-4)"
expect "less was asked for" "sms=1" "$(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 in_one "$probe" | cut -d' ' -f3)"
expect "another's device, by name" CUDA_ERROR_NO_DEVICE "$(CUDA_VISIBLE_DEVICES=${uuids[0]} in_one "$probe" | tail -n 1)"
expect "a second device, by number" 1 "$(CUDA_VISIBLE_DEVICES=0,1 in_one "$probe" | wc -l)"
expect "two devices, in the server's order" "${uuids[0]} ${uuids[2]}" "$(CUDA_MPS_PIPE_DIRECTORY=$two "$probe" | sort -n | awk '{ print $2 }' | xargs)"
expect "a partition" CUDA_ERROR_NOT_PERMITTED "$(CUDA_MPS_SM_PARTITION=x/1 in_one "$probe" | tail -n 1)"

# A shell in the container raises no limit and administers nothing.
hold client in_one "$probe"
client=$(in_one "$control" get_client_list "$(in_one "$control" get_server_list)")
expect "more threads" "Permission denied: the claim pod_one is for 50.0" "$(in_one "$control" set_active_thread_percentage "$client" 60)"
expect_in "more memory" "Permission denied: the claim pod_one is for" "$(in_one "$control" set_device_pinned_mem_limit "$client" "${uuids[1]}" 512M)"
expect_in "another claim" "Permission denied: claim is for root" "$(in_one "$control" claim add pod_one 0,1,2)"
expect_in "quit" "Permission denied" "$(in_one "$control" quit)"
# The server's limits may go below the claim's, not above.
server=$(ask get_server_list | head -n 1)
for pid in $(ask get_server_list); do ask "set_active_thread_percentage $pid 100" > /dev/null; done
expect "after the server's limit was raised" 50.0 "$(ask "get_active_thread_percentage $client")"
release client
wait "$holder" || fail "$(cat "$work/client")"

# The claim outlives an upgrade, and ends when it is revoked.
ask upgrade
again() { [ "$(in_one "$probe" 2> /dev/null | awk '{ print $2 }')" = "${uuids[1]}" ]; }
until_true "the claim after an upgrade" again
expect "claims" 2 "$(ask "claim list" | wc -l)"
ask "claim rm pod_one"
[ ! -e "$one" ] || fail "the directory is still there"

# A client that connected through a revoked claim gets nothing of the next claim of that name.
touch "$work/quiet"
CUDA_MPS_PIPE_DIRECTORY=$two "$fakes/fake_client" --after "$work/quiet" > "$work/late" &
late=$!
until_true "it is connected" says connected "$work/late"
ask "claim rm pod_two"
ask "claim add pod_two ${uuids[2]},0" > /dev/null
rm "$work/quiet"
wait $late || true
! says welcome "$work/late" || fail "who came by the claim before is served by the next of its name"

# Where claims are required, a container that connects in the daemon's own directory has none.
unshare --user --map-root-user --pid --fork true 2> /dev/null || { echo "without a namespace: nobody lives elsewhere"; exit 0; }
elsewhere() { unshare --user --map-root-user --pid --fork --mount-proc "$probe" 2>&1 | tail -n 1; }
expect_in "elsewhere, none required" "${uuids[0]}" "$(elsewhere)"
ask "claim require on"
expect "elsewhere, without a claim" CUDA_ERROR_NOT_PERMITTED "$(elsewhere)"
expect "at home, without a claim" 3 "$("$probe" | wc -l)"
# A container that mounts the directory of all claims has none: neither by name, nor by listing.
expect "by a claim that it was not given" CUDA_ERROR_NOT_PERMITTED "$(CUDA_MPS_PIPE_DIRECTORY=$two elsewhere)"
expect "who may list claims" 711 "$(stat -c %a "$work/pipe/claims")"
# in_container DIRECTORY: runs the program where that directory, as /mps, is all that it sees of the daemon. Files that a
# sanitizer's options name are missing there, too.
in_container() {
  mkdir -p "$work/container"
  unshare --user --map-root-user --pid --mount --fork sh -euc '
    cd "$1"
    mount -t tmpfs tmpfs .
    for path in /usr /lib /lib64 /bin "$4" "$5"; do
      if [ -L "$path" ]; then cp -P "$path" ".$path"; else mkdir -p ".$path"; mount --rbind "$path" ".$path"; fi
    done
    mkdir -p proc mps
    mount -t proc proc proc
    mount --bind "$2" mps
    exec chroot . env -u TSAN_OPTIONS -u ASAN_OPTIONS -u LSAN_OPTIONS CUDA_MPS_PIPE_DIRECTORY=/mps LD_LIBRARY_PATH="$4" "$3"' sh "$work/container" "$1" "$probe" "$(realpath "$bin/../lib")" "$(dirname "$probe")" 2>&1 | tail -n 1
}
expect_in "in a container, with its claim" "${uuids[0]}" "$(in_container "$two")"
expect "in a container, with the directory of the daemon" CUDA_ERROR_NOT_PERMITTED "$(in_container "$work/pipe")"
