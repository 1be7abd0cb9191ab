. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_DEVICES=3

mapfile -t uuids < <(CUDA_MPS_PIPE_DIRECTORY=$work/none "$probe" | sort | awk '{ print $2 }')
seen() { "$probe" | sort | awk '{ print $1, $2 }' | xargs; }
daemon() { CUDA_VISIBLE_DEVICES=$1 "$control" -d; }
daemon 2
expect "one device, by ordinal" "0 ${uuids[2]}" "$(seen)"
expect "0 is the daemon's first" "0 ${uuids[2]}" "$(CUDA_VISIBLE_DEVICES=0 seen)"
expect "others are not there" CUDA_ERROR_NO_DEVICE "$(CUDA_VISIBLE_DEVICES=2 seen)"
ask 'quit -t 1'
daemon "${uuids[2]},${uuids[0]}"
expect "two devices, by UUID" "0 ${uuids[2]} 1 ${uuids[0]}" "$(seen)"
expect "a client's choice of them" "0 ${uuids[0]}" "$(CUDA_VISIBLE_DEVICES=1 seen)"
ask 'quit -t 1'

# A daemon per device, each in a directory of its own.
first=$CUDA_MPS_PIPE_DIRECTORY
daemon 0
export CUDA_MPS_PIPE_DIRECTORY=$work/second
daemon 1
expect "second daemon" "0 ${uuids[1]}" "$(seen)"
ask 'quit -t 1'
export CUDA_MPS_PIPE_DIRECTORY=$first
expect "first daemon" "0 ${uuids[0]}" "$(seen)"
