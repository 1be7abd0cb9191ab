. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d -p 3
"$control" server create training --uid="$(id -u)" > /dev/null
"$control" namespace create small --server=training > /dev/null
"$control" namespace set small --server=training --active-thread-percentage=25 --pinned-memory-limit=0=1G > /dev/null
pid=$(daemon_pid)
ask upgrade
until_true "the daemon goes on" says "of the previous program serves its clients" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "process" "$pid" "$(daemon_pid)"
expect "percentage" 25.0 "$("$control" namespace get small training active-thread-percentage)"
expect_in "memory" 1G "$("$control" namespace get small training pinned-memory-limit)"
expect "a client of the namespace" welcome "$(CUDA_MPS_PIPE_DIRECTORY=$("$control" namespace get small training pipe-directory) "$client")"
