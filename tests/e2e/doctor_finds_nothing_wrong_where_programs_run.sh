. "$(dirname "$0")/lib.sh"
use_doctor
export TUTTI_STATE_DIR=$work/state

"$control" -d
doctor "$(program vector_add)"
expect "exit status: $diagnosis" 0 $status
expect_in "library" "libcuda.so.1 is loaded, because LD_LIBRARY_PATH names its directory" "$diagnosis"
expect_in "daemon" "control daemon answers (process $(daemon_pid))" "$diagnosis"
expect_in "kernel" "a kernel was compiled and ran" "$diagnosis"
doctor --json
expect_in "JSON" '"healthy": true' "$diagnosis"
expect_in "JSON" '"check": "kernel"' "$diagnosis"
ask 'quit -t 1'
# A missing daemon is a problem only where one is needed.
doctor
expect "exit status without a daemon: $diagnosis" 0 $status
doctor --service
expect "exit status where the service is needed" 1 $status
