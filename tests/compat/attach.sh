# How a program finds its server, and what it gets if it cannot: the CUresult, and one line on stderr that names the remedy.
#   attach.sh PROBE
set -u
probe=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# expect NAME RESULT TEXT VARIABLE=VALUE ...: the probe's result, and a text on stderr ("" for none at all)
expect() {
  local name=$1 result=$2 text=$3
  shift 3
  local got
  got=$(env "$@" "$probe" 2> "$dir/stderr")
  [ "$got" = "$result" ] || { echo "$name: CUresult $got, expected $result"; failed=1; }
  if [ -z "$text" ]; then
    [ ! -s "$dir/stderr" ] || { echo "$name: unexpected: $(cat "$dir/stderr")"; failed=1; }
  else
    grep -q -- "$text" "$dir/stderr" || { echo "$name: no \"$text\" in: $(cat "$dir/stderr")"; failed=1; }
    [ "$(wc -l < "$dir/stderr")" = 1 ] || { echo "$name: more than one line: $(cat "$dir/stderr")"; failed=1; }
  fi
}

touch "$dir/file"
mkdir "$dir/stale"
python3 - "$dir/stale/control" <<'END' || exit 77
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
END
long=$dir/$(printf 'x%.0s' {1..120})

expect 'no daemon: a private server' 0 '' CUDA_MPS_PIPE_DIRECTORY="$dir/none"
expect 'a stale socket: a private server' 0 '' CUDA_MPS_PIPE_DIRECTORY="$dir/stale"
expect 'the pipe directory is a file' 805 'is not a directory' CUDA_MPS_PIPE_DIRECTORY="$dir/file"
expect 'the pipe directory is too long' 805 'too long for a socket' CUDA_MPS_PIPE_DIRECTORY="$long"
expect 'there is no server program' 802 'set TUTTI_SERVER' TUTTI_SERVER="$dir/none"
expect 'the server ends at once' 805 'opens no session' TUTTI_SERVER=/bin/false
for try in 1 2 3 4 5 6 7 8; do  # whatever the program and its server do first
  expect 'the server cannot start' 805 'TUTTI_CPU_SMS=0: expected a number from 1' TUTTI_CPU_SMS=0
done
expect 'no device is visible' 100 '' CUDA_VISIBLE_DEVICES=
expect 'a device is visible that is not there' 0 'the first 1 of 2 entries' CUDA_VISIBLE_DEVICES=0,7
expect 'no device, as programs ask for that' 100 '' CUDA_VISIBLE_DEVICES=-1

# Limits: for an unreadable one, stderr names its value and what holds instead; the program runs.
for value in 0 -5 101 banana nan; do
  expect "percentage $value" 0 "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=\"$value\" is not used, the server's percentage instead" \
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="$value"
done
for value in 5 0=5 0=5K 0=-1G 0=1180591620717411303424G x=1G; do
  expect "memory limit $value" 0 "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=\"$value\" is not used, the server's limits instead" \
    CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="$value"
done
expect 'a memory limit of an unknown device' 0 '"GPU-ffff" is none of the 1 devices' CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G,GPU-ffff=1M
expect 'priority 7' 0 'CUDA_MPS_CLIENT_PRIORITY="7" is not used' CUDA_MPS_CLIENT_PRIORITY=7
expect 'per-context percentages, misspelt' 0 'PARTITIONING="yes" is not used, 0 instead' \
  CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING=yes
expect 'good limits say nothing' 0 '' CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=12.5 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=512MB \
  CUDA_MPS_CLIENT_PRIORITY=1
if [ "$(id -u)" != 0 ]; then
  mkdir -m 000 "$dir/unreadable"
  expect 'the pipe directory is unreadable' 805 'cannot be used' CUDA_MPS_PIPE_DIRECTORY="$dir/unreadable"
fi
exit $failed
