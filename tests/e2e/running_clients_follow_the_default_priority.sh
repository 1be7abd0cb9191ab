# A default priority, or a namespace's, holds at once for running clients that have none of their own.
. "$(dirname "$0")/lib.sh"
use_probe
priority() { ask report | tr '{' '\n' | grep "\"pid\":$1," | grep -o '"priority":[01]'; }

"$control" -d
hold plain "$probe"
plain=$holder
CUDA_MPS_CLIENT_PRIORITY=0 hold outspoken "$probe"
outspoken=$holder
hold chosen "$probe"
chosen=$holder
ask "set_client_priority $chosen 0"
ask "set_default_client_priority 1"
expect "a client that says nothing" '"priority":1' "$(priority $plain)"
expect "one that has said what it wants" '"priority":0' "$(priority $outspoken)"
expect "one that was given its own" '"priority":0' "$(priority $chosen)"
ask "set_client_priority $chosen 1"
ask "set_device_pinned_mem_limit $(ask get_server_list) 0 2G"
expect "other limits leave it alone" '"priority":1' "$(priority $chosen)"
ask 'quit -t 0' || true

"$control" -d --new-clients-only
hold unmoved "$probe"
ask "set_default_client_priority 1"
expect "NVIDIA's way: new clients only" '"priority":0' "$(priority $holder)"
ask 'quit -t 0' || true

"$control" -d -p 3
"$control" server create training --uid="$(id -u)" > /dev/null
"$control" namespace create batch --server=training > /dev/null
in_namespace() { CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/training${1:+/$1} "${@:2}"; }
hold low in_namespace batch "$probe"
hold normal in_namespace "" "$probe"
client_of() { "$control" client list --server=training --format=csv,noheader | awk -F, -v name="$1" '$4 == name { print $1 }'; }
low=$(client_of batch)
normal=$(client_of default)
"$control" namespace set batch --server=training --client-priority=1
expect "a client of the namespace" '"priority":1' "$(priority "$low")"
expect "one of another" '"priority":0' "$(priority "$normal")"
