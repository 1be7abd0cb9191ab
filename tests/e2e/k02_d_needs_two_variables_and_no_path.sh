. "$(dirname "$0")/lib.sh"
use_probe

# The device plugin's daemon replaces the whole environment.
env -i CUDA_MPS_PIPE_DIRECTORY="$CUDA_MPS_PIPE_DIRECTORY" CUDA_MPS_LOG_DIRECTORY="$CUDA_MPS_LOG_DIRECTORY" "$control" -d
# The daemon has to find the server without PATH, so ask for one.
expect_in "a program is served" "mps=1" "$("$probe")"
expect "server program" "$(realpath "$bin/tutti-server")" "$(readlink "/proc/$(ask get_server_list)/exe")"
