. "$(dirname "$0")/lib.sh"
use_fakes

# Orchestrators start it with two variables, without PATH and HOME; it finds its own directory in /proc/self/exe.
env -i CUDA_MPS_PIPE_DIRECTORY="$work/deep/pipe" CUDA_MPS_LOG_DIRECTORY="$work/deep/log" "$control" -d || fail "-d"
export CUDA_MPS_PIPE_DIRECTORY=$work/deep/pipe CUDA_MPS_LOG_DIRECTORY=$work/deep/log
expect "client" welcome "$("$client")"
[ -f "$work/deep/log/control.log" ] || fail "no control.log"
expect "command line of the daemon" "$control -d" "$(tr '\0' ' ' < "/proc/$(daemon_pid)/cmdline" | sed 's/ $//')"
expect_in "environment of the daemon" "CUDA_MPS_PIPE_DIRECTORY=$work/deep/pipe" "$(tr '\0' '\n' < "/proc/$(daemon_pid)/environ")"
expect "working directory" / "$(readlink "/proc/$(daemon_pid)/cwd")"
expect "output descriptors" "/dev/null /dev/null /dev/null" "$(for fd in 0 1 2; do readlink "/proc/$(daemon_pid)/fd/$fd"; done | xargs)"
