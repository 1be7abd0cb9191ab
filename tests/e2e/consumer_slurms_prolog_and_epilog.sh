. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, as a prolog has"
use_probe
as_user 65534 test -x "$probe" || skip "the build directory is closed to other users"

# The relevant parts of Slurm's sample prolog: no exported PATH, no terminal, directories that do not exist yet; the first job
# starts the daemon, each job its user's server by a command in the arguments. A second start "just returns an error".
prolog() { # prolog DEVICE USER
  env -i CUDA_MPS_PIPE_DIRECTORY="$work/nvidia-mps_$1" CUDA_MPS_LOG_DIRECTORY="$work/nvidia-log_$1" SLURM_JOB_UID="$2" CTL="$control" \
    bash -c '"$CTL" -d; "$CTL" start_server -uid $SLURM_JOB_UID' < /dev/null > "$work/prolog.$2" 2>&1
}
prolog 0 65534 || fail "prolog: $(cat "$work/prolog.65534")"
prolog 0 54321 || fail "prolog of a second user: $(cat "$work/prolog.54321")"
expect "second start" "An instance of this daemon is already running" "$(cat "$work/prolog.54321")"
export CUDA_MPS_PIPE_DIRECTORY=$work/nvidia-mps_0 CUDA_MPS_LOG_DIRECTORY=$work/nvidia-log_0
job() { CUDA_VISIBLE_DEVICES=0 CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 as_user "$1" "$probe"; }
# With NVIDIA's daemon the second user would wait for the first; here both run.
expect_in "job" mps=1 "$(job 65534)"
expect_in "job of the second user" mps=1 "$(job 54321)"
until_true "a server for each" test "$(ask get_server_list | wc -l)" = 2

# Before a job gets the whole device.
echo quit | "$control"
for pid in $(ours); do
  [[ "$(tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null)" != *nvidia-cuda-mps* ]] || fail "MPS not quitting: process $pid"
done
