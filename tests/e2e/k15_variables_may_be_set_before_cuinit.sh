. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=4G

pipe=$CUDA_MPS_PIPE_DIRECTORY
"$control" -d
# As a Python worker does with os.environ: the variables are unset when the process starts and loads the library.
text=$(env -u CUDA_MPS_PIPE_DIRECTORY "$probe" --setenv "CUDA_MPS_PIPE_DIRECTORY=$pipe" --setenv CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G)
expect_in "daemon" mps=1 "$text"
expect_in "limit" total_mib=1024 "$text"
