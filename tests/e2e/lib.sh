# For the scripts beside it: `. lib.sh` gives a private daemon directory and the functions to test with. A script gets the
# build's bin directory as $1 and the directory of the fakes as $2; it exits with 0, or with a line that says what differed.
# Scripts about the daemon alone call use_fakes first, so that its servers are fakes (fake_server.cc).
set -euo pipefail
bin=$1
fakes=$2
work=$(mktemp -d /tmp/tutti-e2e.XXXXXX)
chmod 755 "$work"
export CUDA_MPS_PIPE_DIRECTORY=$work/pipe CUDA_MPS_LOG_DIRECTORY=$work/log
unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PINNED_DEVICE_MEM_LIMIT CUDA_MPS_CLIENT_PRIORITY
control=$bin/nvidia-cuda-mps-control

finish() {
  local status=$?
  set +e
  trap '' PIPE  # the reader of our output may be gone; the daemon must end all the same
  [ $status -eq 0 ] || [ ! -f "$CUDA_MPS_LOG_DIRECTORY/control.log" ] || sed 's/^/  control.log: /' "$CUDA_MPS_LOG_DIRECTORY/control.log" >&2
  local pids
  pids=$(jobs -p)
  disown -a  # or the shell reports each process that is killed
  for pid in $pids; do kill -KILL "$pid" 2> /dev/null || true; done
  for pid in $(ours); do
    case $(readlink "/proc/$pid/exe") in
      */tutti-control | */nvidia-cuda-mps-control | */tutti-server) kill -KILL "$pid" ;;  # servers outlive their daemon
    esac
  done
  rm -rf "$work"
  exit $status
}
trap finish EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
# Whether this machine can make a terminal; a container without /dev/pts cannot.
has_terminal() { command -v script > /dev/null && script -qec true /dev/null < /dev/null > /dev/null 2>&1; }
# For claims about programs built without the sanitizer's run-time, or about memory that the run-time never frees.
skip_with_sanitizer() { [ -z "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] || skip "$1"; }
# For claims about kernels that are terminated.
skip_where_kernels_stay() { [ -z "${TSAN_OPTIONS:-}" ] || skip "under the thread sanitizer kernels are left at their calls only"; }

# The daemon looks for its servers beside its own file.
use_fakes() {
  mkdir -p "$work/bin"
  cp "$bin/tutti-control" "$work/bin/nvidia-cuda-mps-control"
  cp "$fakes/fake_server" "$work/bin/tutti-server"
  cp "$fakes/fake_client" "$work/bin/fake_client"
  ln -s tutti-server "$work/bin/nvidia-cuda-mps-server"
  control=$work/bin/nvidia-cuda-mps-control
  client=$work/bin/fake_client
}

ask() { printf '%s' "$1" | "$control"; }
# expect WHAT WANTED GOT
expect() { [ "$2" = "$3" ] || fail "$1: wanted \"$2\", got \"$3\""; }
# expect_in WHAT PART TEXT
expect_in() { [[ "$3" == *"$2"* ]] || fail "$1: wanted \"$2\" in \"$3\""; }
# until_true WHAT COMMAND...: waits up to ten seconds
until_true() {
  local what=$1
  shift
  for _ in $(seq 500); do
    if "$@" > /dev/null 2>&1; then return 0; fi
    sleep 0.02
  done
  fail "not within ten seconds: $what"
}
# A zombie has closed its files once no thread but the first is left.
gone() { ! kill -0 "$1" 2> /dev/null || { [ "$(awk '{ print $3 }' "/proc/$1/stat" 2> /dev/null)" = Z ] && [ "$(ls "/proc/$1/task" 2> /dev/null)" = "$1" ]; }; }
daemon_pid() { cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"; }
control_log() { cat "$CUDA_MPS_LOG_DIRECTORY/control.log"; }
says() { grep -q "$1" "$2"; }
# as_user UID COMMAND...
as_user() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# For scripts about the whole chain: programs load our library; these scripts share a code cache.
use_programs() {
  export LD_LIBRARY_PATH=$bin/../lib TUTTI_CACHE_DIR=$bin/../test/e2e-cache
  [ -e "$LD_LIBRARY_PATH/libcuda.so.1" ] || skip "needs libcuda.so.1"
  [ -x "$bin/tutti-compiler" ] || skip "needs tutti-compiler"
}
# For scripts that need a program on real devices but no kernels: $probe (device_probe.cc).
use_probe() {
  export LD_LIBRARY_PATH=$bin/../lib
  probe=$fakes/device_probe
  [ -x "$probe" ] || skip "needs libcuda.so.1"
  [ -x "$bin/tutti-server" ] || skip "needs tutti-server"
}
# hold NAME COMMAND...: starts a program that holds its devices until `release NAME`; sets $holder to its process id
hold() {
  mkfifo "$work/$1.stdin"
  "${@:2}" --hold < "$work/$1.stdin" > "$work/$1" 2>&1 &
  holder=$!
  exec {hold_fd}> "$work/$1.stdin"
  hold_fds[$1]=$hold_fd
  until_true "$1 holds its devices: $(cat "$work/$1")" says holding "$work/$1"
}
declare -A hold_fds
release() { exec {hold_fds[$1]}>&-; }
# For scripts about kernels that never end: endless NAME KERNEL [COMMAND...] starts such a program (by COMMAND), sets $endless to
# its process id, and returns when its kernel runs.
use_endless_programs() {
  skip_where_kernels_stay
  use_probe
  use_programs
  [ -x "$fakes/endless_program" ] || skip "needs libcuda.so.1"
  kernels=$(dirname "$0")/kernels
}
endless() {
  "${@:3}" "$fakes/endless_program" "$kernels/$2.ptx" > "$work/$1" 2>&1 &
  endless=$!
  until_true "the kernel $2 runs: $(cat "$work/$1")" says running "$work/$1"
}
# ended_within_2_s NAME PID SINCE WHAT: the endless program has ended with the error of a terminated one. Prints how long it took.
ended_within_2_s() {
  for _ in $(seq 400); do if gone "$2"; then break; fi; sleep 0.005; done
  echo "$4: ended after $((($(date +%s%N) - $3) / 1000000)) ms"
  gone "$2" || fail "$4: the program still runs after 2 s: $(cat "$work/$1")"
  expect "what the program says" CUDA_ERROR_MPS_CLIENT_TERMINATED "$(tail -n 1 "$work/$1")"
}
# Finds processes of this script's daemon by their environment: others on this machine may run the same programs.
ours() { grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$work/" /proc/[0-9]*/environ | cut -d/ -f3; }

# program NAME: path of an example, built by nvcc or else from PTX
program() {
  local name
  for name in "$1" "$1_driver"; do
    if [ -x "$bin/../examples/$name" ]; then echo "$bin/../examples/$name"; return; fi
  done
  echo "skipped: needs the example $1" >&2
  exit 77
}

# use_mpi NAME: `ranks N` runs the MPI example with N ranks of openmpi or mpich.
use_mpi() {
  use_programs
  mpi=$1
  heat=$bin/../examples/heat_$mpi
  command -v "mpirun.$mpi" > /dev/null && [ -x "$heat" ] || skip "needs $mpi (./dev setup --mpi)"
  # As root, more ranks than cores, loopback only.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_btl=self,vader OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_plm_rsh_agent=true HYDRA_IFACE=lo
}
# The claim, the same for both MPIs.
ranks_share_the_devices() {
  "$control" -d
  text=$(ranks 8 2>&1) || fail "8 ranks on one device: $text"
  expect "ranks on device 0" 8 "$(grep -c 'of 8 used device 0' <<< "$text")"
  expect_in "results" " 0 wrong" "$text"
  expect "servers" 1 "$(ask get_server_list | wc -l)"
  expect "clients of that server" 8 "$(grep -c 'New client .* connected' "$CUDA_MPS_LOG_DIRECTORY/server.log")"
  text=$(ranks 4 --ipc 2>&1) || fail "4 ranks that read each other's device memory: $text"
  expect_in "results" " 0 wrong" "$text"
  ask 'quit -t 1'

  # Two of three devices, each for two ranks.
  export TUTTI_CPU_DEVICES=3 TUTTI_CPU_MEMORY=256M
  "$control" -d
  text=$(CUDA_VISIBLE_DEVICES=2,0 ranks 4 2>&1) || fail "4 ranks on two devices: $text"
  for device in 0 1; do expect "ranks on device $device" 2 "$(grep -c "of 4 used device $device" <<< "$text")"; done
  expect_in "results" " 0 wrong" "$text"
}
ranks() { timeout 60 "mpirun.$mpi" -n "$1" "$heat" "${@:2}" --rounds 10; }

# For scripts about `tutti doctor`: diagnosis [AS...] runs it; it sets $diagnosis and $status.
use_doctor() {
  use_programs
  tutti=$bin/tutti
  [ -x "$tutti" ] || skip "needs tutti"
}
# The doctor of user 65534, and directories for a daemon of user 54321.
use_doctor_of_another_user() {
  [ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
  use_doctor
  as_user 65534 test -x "$tutti" || skip "the build directory is closed to other users"
  export TUTTI_STATE_DIR=$work/state TUTTI_CACHE_DIR=$work/cache
  mkdir -m 777 "$work/cache" "$work/pipe" "$work/log"
  chown 54321 "$work/pipe" "$work/log"
}
doctor() {
  status=0
  diagnosis=$("$tutti" doctor "$@" 2>&1) || status=$?
}
# expect_problem TEXT REMEDY: the diagnosis has a problem with this text, followed by this remedy
expect_problem() {
  expect "exit status of the doctor" 1 $status
  local found
  found=$(grep -A 1 ^PROBLEM <<< "$diagnosis" | grep -F -A 1 -- "$1") || fail "no problem \"$1\" in: $diagnosis"
  expect_in "remedy after $1" "$2" "$found"
}
