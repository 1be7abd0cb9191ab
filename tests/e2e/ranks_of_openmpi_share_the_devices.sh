. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "mpirun has no sanitizer in it"
use_mpi openmpi
ranks_share_the_devices
