. "$(dirname "$0")/lib.sh"

mkdir -p "$work/lib"
export TUTTI_LIBRARY_DIR=$bin/../lib
[ -e "$TUTTI_LIBRARY_DIR/libcuda.so.1" ] || { touch "$work/lib/libcuda.so.1"; TUTTI_LIBRARY_DIR=$work/lib; }
expect "percentage" 25 "$("$bin/tutti" run --threads 25 -- sh -c 'echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE')"
expect "percentage, by its other name" 25 "$("$bin/tutti" run --percentage 25 -- sh -c 'echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE')"
expect_in "memory" "0=2G,1=2G," "$("$bin/tutti" run --memory 2G -- sh -c 'echo $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT')"
expect "priority" 1 "$("$bin/tutti" run --priority low -- sh -c 'echo $CUDA_MPS_CLIENT_PRIORITY')"
expect "library path" "$TUTTI_LIBRARY_DIR/libraries:$TUTTI_LIBRARY_DIR:/there" "$(LD_LIBRARY_PATH=/there "$bin/tutti" run -- sh -c 'echo $LD_LIBRARY_PATH')"
expect "options of the program" "-n a b" "$("$bin/tutti" run -- echo -- -n a b | cut -c4-)"

run() { # run STATUS PART ARGUMENTS...: expects the status and a part of the line on stderr
  local status=0
  "$bin/tutti" run "${@:3}" > "$work/out" 2>&1 || status=$?
  expect "status of ${*:3}" "$1" $status
  expect_in "text of ${*:3}" "$2" "$(cat "$work/out")"
}
run 7 "" -- sh -c 'exit 7'
run 127 "cannot run /no/such: No such file" -- /no/such
run 126 "cannot run /etc/passwd: Permission denied" -- /etc/passwd
run 1 "active thread percentage 101 is out of range" --percentage 101 -- true
run 1 'memory limit "5K" is not a size' --memory 5K -- true
run 2 '--priority: "high" is unknown: give normal or low' --priority high -- true
