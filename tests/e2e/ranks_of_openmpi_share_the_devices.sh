. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "mpirun has no sanitizer in it"
use_mpi openmpi

"$control" -d
text=$(ranks 8 2>&1) || fail "8 ranks on one device: $text"
expect "ranks on device 0" 8 "$(grep -c 'of 8 used device 0' <<< "$text")"
expect_in "results" " 0 wrong" "$text"
expect "servers" 1 "$(ask get_server_list | wc -l)"
expect "clients of that server" 8 "$(grep -c 'New client .* connected' "$CUDA_MPS_LOG_DIRECTORY/server.log")"
ask 'quit -t 1'

# Two of three devices, each for two ranks.
export TUTTI_CPU_DEVICES=3 TUTTI_CPU_MEMORY=256M
"$control" -d
text=$(CUDA_VISIBLE_DEVICES=2,0 ranks 4 2>&1) || fail "4 ranks on two devices: $text"
for device in 0 1; do expect "ranks on device $device" 2 "$(grep -c "of 4 used device $device" <<< "$text")"; done
expect_in "results" " 0 wrong" "$text"
