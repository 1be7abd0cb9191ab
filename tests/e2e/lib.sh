# For the scripts beside it: `. lib.sh` gives a private daemon directory and the words to test with. A script gets the
# build's bin directory as $1 and the directory of the fakes as $2; it ends with 0, or with a line that says what differed.
# Scripts about the daemon alone call use_fakes first: then the daemon's servers are fakes (fake_server.cc).
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
  trap '' PIPE  # whoever reads our output may have gone; the daemon ends all the same
  [ $status -eq 0 ] || [ ! -f "$CUDA_MPS_LOG_DIRECTORY/control.log" ] || sed 's/^/  control.log: /' "$CUDA_MPS_LOG_DIRECTORY/control.log" >&2
  for pid in $(jobs -p); do kill -KILL "$pid" 2> /dev/null || true; done
  if [ -f "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid" ]; then
    kill -KILL "$(cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid")" 2> /dev/null || true
  fi
  rm -rf "$work"
  exit $status
}
trap finish EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# The daemon finds its servers beside its own file.
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
gone() { ! kill -0 "$1" 2> /dev/null || [ "$(awk '{ print $3 }' "/proc/$1/stat" 2> /dev/null)" = Z ]; }
daemon_pid() { cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"; }
control_log() { cat "$CUDA_MPS_LOG_DIRECTORY/control.log"; }
says() { grep -q "$1" "$2"; }
# as_user UID COMMAND...
as_user() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# For scripts about the whole chain: our library for programs, a cache of compiled code that these scripts share.
use_programs() {
  export LD_LIBRARY_PATH=$bin/../lib TUTTI_CACHE_DIR=$bin/../test/e2e-cache
  [ -e "$LD_LIBRARY_PATH/libcuda.so.1" ] || skip "needs libcuda.so.1"
  [ -x "$bin/tutti-compiler" ] || skip "needs tutti-compiler"
}
# program NAME: path of an example, as nvcc built it or else from PTX
program() {
  local name
  for name in "$1" "$1_driver"; do
    if [ -x "$bin/../examples/$name" ]; then echo "$bin/../examples/$name"; return; fi
  done
  echo "skipped: needs the example $1" >&2
  exit 77
}
