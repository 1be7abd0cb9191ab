. "$(dirname "$0")/lib.sh"
use_probe
export TUTTI_CPU_MEMORY=8G TUTTI_CPU_DEVICES=2

# The template of the control daemon's container: a shell under `set -e`, commands without pauses, limits by UUID,
# CUDA_VISIBLE_DEVICES with UUIDs.
mapfile -t uuids < <(CUDA_MPS_PIPE_DIRECTORY=$work/none "$probe" | sort | awk '{ print $2 }')
cat > "$work/start" <<END
set -e
nvidia-cuda-mps-control -d -M
echo set_default_active_thread_percentage 50 | nvidia-cuda-mps-control
echo set_default_device_pinned_mem_limit ${uuids[1]} 2048M | nvidia-cuda-mps-control
echo started > $work/startup.log
exec tail -n +1 -f $work/log/control.log
END
container() { CUDA_VISIBLE_DEVICES=${uuids[1]} PATH=$bin:$PATH sh "$work/start" > "$work/container" 2>&1 & container=$!; }
container
until_true "startup probe" test -s "$work/startup.log"
expect_in "a claim's device" "0 ${uuids[1]}" "$("$probe")"
expect_in "its limit" total_mib=2048 "$("$probe")"
hold client "$probe"
# The claim ends: no quit, everything in the container is killed.
server=$(ask get_server_list)
kill -KILL $container "$(daemon_pid)" "$server"
release client
until_true "the client was told" says CUDA_ERROR_MPS_RPC_FAILURE "$work/client"
rm "$work/startup.log"
container
until_true "the next claim in the same directory" test -s "$work/startup.log"
