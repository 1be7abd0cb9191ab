. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d -p 3
"$control" server create training --uid="$(id -u)" > /dev/null
"$control" namespace create small --server=training > /dev/null
"$control" namespace set small --server=training --active-thread-percentage=25 --pinned-memory-limit=0=1G > /dev/null
small=$("$control" namespace get small training pipe-directory)
CUDA_MPS_PIPE_DIRECTORY=$small "$client" --hold > "$work/one" &
until_true "welcome" says welcome "$work/one"
ask "claim add half 0 threads=50" > /dev/null
ask "claim require on" > /dev/null
claims=$(ask "claim list")
clients=$("$control" client list --format=csv,noheader)
processes() { for pid in $(ours); do [[ "$(readlink "/proc/$pid/exe")" != */tutti-server ]] || echo "$pid"; done; }
before=$(processes)

kill -KILL "$(daemon_pid)"
"$control" -d -p 3
same_clients() { [ "$("$control" client list --format=csv,noheader)" = "$clients" ]; }
until_true "the same clients: $clients" same_clients
expect "server processes" "$before" "$(processes)"
expect "percentage" 25.0 "$("$control" namespace get small training active-thread-percentage)"
expect_in "memory" 1G "$("$control" namespace get small training pinned-memory-limit)"
expect "claims" "$claims" "$(ask "claim list")"
expect "a client of the namespace" welcome "$(CUDA_MPS_PIPE_DIRECTORY=$small "$client")"
expect "a client of the claim" welcome "$(CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/claims/half "$client")"
expect "servers" 1 "$("$control" server list --format=csv,noheader | grep -c training)"
