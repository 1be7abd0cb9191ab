# A real Slurm with one node, in a private directory: two users' jobs with mps:25 and mps:50 hold one device at the same time and
# get their shares; the last one ends the service; the node stays up.
. "$(dirname "$0")/../e2e/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
for program in slurmctld slurmd srun sbatch munged; do command -v $program > /dev/null || skip "needs $program (./dev setup --e2e)"; done
use_probe
as_user 65534 test -x "$probe" || skip "the build directory is closed to other users"
here=$(cd "$(dirname "$0")/../.." && pwd)
slurm=$work/slurm
mkdir -p "$slurm"/{state,spool,munge,dev,run}
chmod 755 "$slurm" "$slurm/run"
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY

# Two GPUs: Slurm requires device nodes whose names end in a number.
for device in 0 1; do mknod "$slurm/dev/nvidia$device" c 1 3; done

# The scripts as shipped, with this test's directories.
mkdir "$slurm/scripts"
cp "$here"/integrations/slurm/tutti-* "$slurm/scripts"
for script in prolog epilog task-prolog; do
  cat > "$slurm/$script" << EOF
#!/bin/bash
export TUTTI_SLURM_DIRECTORY=$slurm/run TUTTI_SLURM_PIPES=$work TUTTI_BIN=$bin TUTTI_CPU_DEVICES=2 TUTTI_CPU_SMS=8 TUTTI_CPU_MEMORY=1G
exec $slurm/scripts/tutti-$script
EOF
  chmod 755 "$slurm/$script"
done
# The prolog starts the daemon with a clean environment, so a wrapper of the program sets the size of this test's devices.
mkdir "$slurm/bin"
cat > "$slurm/bin/nvidia-cuda-mps-control" << EOF
#!/bin/bash
export TUTTI_CPU_DEVICES=2 TUTTI_CPU_SMS=8 TUTTI_CPU_MEMORY=1G
exec $bin/nvidia-cuda-mps-control "\$@"
EOF
chmod 755 "$slurm/bin/nvidia-cuda-mps-control"
sed -i "s#TUTTI_BIN=$bin#TUTTI_BIN=$slurm/bin#" "$slurm"/{prolog,epilog}

dd if=/dev/urandom of="$slurm/munge/key" bs=1024 count=1 2> /dev/null
chown -R munge:munge "$slurm/munge"
chmod 700 "$slurm/munge"
chmod 400 "$slurm/munge/key"
mkdir -m 755 "$slurm/socket"
chown munge:munge "$slurm/socket"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --key-file "$slurm/munge/key" --socket "$slurm/socket/munge" \
  --pid-file "$slurm/munge/pid" --log-file "$slurm/munge/log" --seed-file "$slurm/munge/seed" 2> "$slurm/munged.err" &
until_true "munged listens" test -S "$slurm/socket/munge"

port=$((20000 + $$ % 20000))
cat > "$slurm/slurm.conf" << EOF
ClusterName=tutti
SlurmctldHost=localhost
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$slurm/socket/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu,mps
ReturnToService=2
MpiDefault=none
Prolog=$slurm/prolog
Epilog=$slurm/epilog
TaskProlog=$slurm/task-prolog
PrologFlags=Alloc
NodeName=localhost CPUs=$(getconf _NPROCESSORS_ONLN) State=UNKNOWN Gres=gpu:2,mps:200
PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:8
EOF
cat > "$slurm/gres.conf" << EOF
Name=gpu File=$slurm/dev/nvidia[0-1]
Name=mps Count=200
EOF
export SLURM_CONF=$slurm/slurm.conf
slurmctld -D -c > "$slurm/slurmctld.out" 2>&1 &
slurmd -D -N localhost > "$slurm/slurmd.out" 2>&1 &
trap 'status=$?; set +e; [ $status -eq 0 ] || tail -n 30 "$slurm/slurmd.log" | sed "s/^/  slurmd: /" >&2; for pid in $(ours); do kill -KILL "$pid" 2> /dev/null; done; CUDA_MPS_LOG_DIRECTORY=$work/log; (exit $status); finish' EXIT
until_true "the node is idle" bash -c '[ "$(sinfo -h -o %T)" = idle ]'

# A job that probes its device and holds it until told to end. The administrator sets the library's path.
for user in 65534 5; do  # users with names, as Slurm requires: nobody, games
  mkdir "$slurm/job_$user"
  mkfifo "$slurm/job_$user/stdin"
  chmod 777 "$slurm/job_$user"
done
cat > "$slurm/job" << EOF
#!/bin/bash
srun --export=ALL bash -c 'export LD_LIBRARY_PATH=$bin/../lib; exec $probe --hold < "$slurm/job_\$(id -u)/stdin" > "$slurm/job_\$(id -u)/out" 2>&1'
EOF
chmod 755 "$slurm/job"
chmod 666 "$slurm"/job_*/stdin
submit() { # submit USER SHARE
  (cd "$slurm/job_$1" && as_user "$1" env -u LD_LIBRARY_PATH sbatch -n1 --gres=mps:"$2" -o "$slurm/job_$1/log" "$slurm/job" > /dev/null)
}
submit 65534 25
submit 5 50
exec {first}> "$slurm/job_65534/stdin" {second}> "$slurm/job_5/stdin"
until_true "the first user's job holds its device" says holding "$slurm/job_65534/out"
until_true "the second user's job holds its device" says holding "$slurm/job_5/out"
say_both() { cat "$slurm"/job_*/out; }
expect_in "25% of 8 SMs" "sms=2 " "$(cat "$slurm/job_65534/out")"
expect_in "50% of 8 SMs" "sms=4 " "$(cat "$slurm/job_5/out")"
expect_in "through the service" "mps=1" "$(cat "$slurm/job_5/out")"
expect "both at the same time" "2" "$(squeue -h -t RUNNING | wc -l)"
pipe=$(ls -d "$work"/nvidia-mps_*)
expect "a server for each user" 2 "$(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipe "$control" | wc -l)"
say_both | sed 's/^/  /'

exec {first}>&-
until_true "the first job is over" bash -c '[ "$(squeue -h | wc -l)" = 1 ]'
echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipe "$control" > /dev/null || fail "the service ended with its first job"
exec {second}>&-
until_true "both jobs are over" bash -c '[ "$(squeue -h | wc -l)" = 0 ]'
until_true "the epilog has ended the service" bash -c "! echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipe $control > /dev/null 2>&1"
until_true "the node is idle again, not down" bash -c '[ "$(sinfo -h -o %T)" = idle ]'
echo "slurm: two users shared device ${pipe##*_}, 2 and 4 of 8 SMs; node idle after the epilog"
