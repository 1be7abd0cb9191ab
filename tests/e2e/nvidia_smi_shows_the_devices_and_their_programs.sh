# nvidia-smi beside two clients of a daemon: root of the machine sees the devices whole and all programs, `tutti run` with limits its share.
. "$(dirname "$0")/lib.sh"
use_probe
smi=$bin/../libexec/nvidia-smi
[ -x "$smi" ] || skip "needs nvidia-smi"
export TUTTI_CPU_SMS=4 TUTTI_CPU_MEMORY=2G TUTTI_STATE_DIR=$work/state
mkdir "$work/state"

"$control" -d
expect "no programs" 0 "$("$smi" --query-compute-apps=pid --format=csv,noheader | wc -l)"
expect "servers that nvidia-smi has started" "" "$(ask get_server_list)"
hold one "$probe" --allocate 64
one=$holder
hold two "$probe" --allocate 128
two=$holder
uuid=$(awk '/^0 GPU-/ { print $2; exit }' "$work/one")

expect "-L" "($uuid)" "$("$smi" -L | sed 's/.*UUID: \(.*\))/(\1)/')"
table=$("$smi")
for part in "Driver Version: 580.0" "CUDA Version: 13.0" "/  2048MiB |" "Default |"; do expect_in "table" "$part" "$table"; done
expect "widths of the table's lines" 91 "$(grep -E '^[|+]' <<< "$table" | awk '{ print length }' | sort -u | xargs)"
for pid in $one $two; do
  expect_in "type of $pid" "M+C" "$(grep -F " $pid " <<< "$table")"
done
expect "query" "$uuid, 2048 MiB, Default, [N/A]" "$("$smi" --query-gpu=uuid,memory.total,compute_mode,power.draw --format=csv,noheader)"
expect "memory of the programs" "$(printf '%s\n' "$one, 64" "$two, 128" | sort)" \
  "$("$smi" --query-compute-apps=pid,used_memory --format=csv,noheader,nounits | sort)"
expect "memory in use" 192 "$("$smi" --query-gpu=memory.used --format=csv,noheader,nounits)"
details=$("$smi" -q -d MEMORY,PIDS)
expect_in "-q" ": $one" "$details"
[[ "$details" != *"Compute Mode"* ]] || fail "-d MEMORY shows compute modes, too"
expect_in "dmon" "192" "$("$smi" dmon -c 1 | tail -1)"
expect "columns of dmon -s u" "# gpu sm mem enc dec jpg ofa" "$("$smi" dmon -s u -c 1 | head -1 | xargs)"
expect "columns of pmon -s m" "# gpu pid type fb ccpm command" "$("$smi" pmon -s m -c 1 | head -1 | xargs)"
expect "pmon" 2 "$("$smi" pmon -c 1 | grep -c 'M+C')"
expect_in "topo" "GPU0" "$("$smi" topo -m)"

# A program names itself: U+009B would be "escape [" to a terminal.
hold odd bash -c 'exec -a "$0" "$@"' $'odd\xc2\x9b31m' "$probe" --allocate 1
expect_in "a program's name" "$holder, odd?31m" "$("$smi" --query-compute-apps=pid,process_name --format=csv,noheader)"
release odd
wait "$holder"

# Its share, as `tutti run` gives it to a program, and nvidia-smi found by its name.
expect "a limited program" "512 MiB" "$("$bin/tutti" run --memory 512M -- nvidia-smi --query-gpu=memory.total --format=csv,noheader)"
expect_in "by the library" "total_mib=512 used_mib=192 sms=2" "$("$bin/tutti" run --memory 512M --threads 50 -- "$fakes/nvml_probe")"
claim=$(ask 'claim add half 0 threads=50 memory=0=256M')
expect_in "through a claim" "total_mib=256 used_mib=" "$(CUDA_MPS_PIPE_DIRECTORY=$claim "$fakes/nvml_probe")"
expect_in "SMs of the claim" "sms=2" "$(CUDA_MPS_PIPE_DIRECTORY=$claim "$fakes/nvml_probe")"
expect "status of a mode that is set through a claim" 4 "$(CUDA_MPS_PIPE_DIRECTORY=$claim bash -c '"$1" -c 2 > /dev/null 2>&1; echo $?' _ "$smi")"
expect "programs that a forked child sees" 4 "$("$fakes/nvml_probe" --fork | grep -c "^process [0-9]* used_mib=\(64\|128\)$")"
expect "mistakes" "all refused" "$("$fakes/nvml_probe" --mistakes)"

# Exit statuses.
status_of() { local status=0; "$@" > "$work/out" 2>&1 || status=$?; echo $status; }
expect "status of an unknown option" 2 "$(status_of "$smi" --nonsense)"
expect "status of an unknown field" 2 "$(status_of "$smi" --query-gpu=nonsense --format=csv)"
expect "status of an unknown device" 6 "$(status_of "$smi" -i 7)"
status_of_full() { local status=0; "$@" > /dev/full 2> "$work/out" || status=$?; echo $status; }
expect "status of an answer that cannot be written" 255 "$(status_of_full "$smi" -L)"
expect_in "and why" "cannot write the answer" "$(cat "$work/out")"

if [ "$(id -u)" = 0 ]; then
  expect "status of a mode that is not told" 255 "$(status_of_full "$smi" -c 0)"
  expect "-c" "All done." "$("$smi" -c EXCLUSIVE_PROCESS | tail -1)"
  expect "mode" "Exclusive_Process" "$("$smi" --query-gpu=compute_mode --format=csv,noheader)"
  "$smi" -c 0 > "$work/out"
  # What another user's daemon would say is not shown.
  if as_user 65534 test -x "$control"; then
    mkdir -m 777 "$work/theirs"
    as_user 65534 env CUDA_MPS_PIPE_DIRECTORY="$work/theirs" CUDA_MPS_LOG_DIRECTORY="$work/theirs" "$control" -d
    expect "status where somebody else listens" 9 "$(CUDA_MPS_PIPE_DIRECTORY=$work/theirs status_of "$smi")"
  fi
  # Another user sees neither root's programs nor sets modes.
  if as_user 65534 test -x "$smi"; then
    expect "programs that another user sees" "" "$(as_user 65534 "$smi" --query-compute-apps=pid --format=csv,noheader)"
    expect "status of a mode that is set by another user" 4 "$(status_of as_user 65534 "$smi" -c 2)"
  fi
fi

# A daemon that does not answer is no reason to show another device.
release one
release two
ask 'quit -t 1'
expect "without a daemon" "2048 MiB" "$("$smi" --query-gpu=memory.total --format=csv,noheader)"
TUTTI_SERVER=/nonexistent expect "status without a server" 9 "$(TUTTI_SERVER=/nonexistent status_of "$smi")"
