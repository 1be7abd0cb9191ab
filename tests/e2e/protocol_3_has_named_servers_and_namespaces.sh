# Clients choose a server and a namespace by the directory they name, and get that namespace's limits.
. "$(dirname "$0")/lib.sh"
use_fakes

expect "what -d says" "To connect CUDA applications to this daemon, set CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY" "$("$control" -d -p 3)"
expect_in "create" "CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY/training" "$("$control" server create training)"
"$control" server create inference > /dev/null
"$control" namespace create batch --server=training > /dev/null
"$control" namespace set batch --server=training --active-thread-percentage=25 --pinned-memory-limit=1G
root=$CUDA_MPS_PIPE_DIRECTORY
CUDA_MPS_PIPE_DIRECTORY=$root/training/batch "$client" --hold > "$work/batch" &
CUDA_MPS_PIPE_DIRECTORY=$root/inference "$client" --hold > "$work/inference" &
"$client" --hold > "$work/own" &
for name in batch inference own; do until_true "$name welcome" says welcome "$work/$name"; done

expect "one server each, all of one user" "inference training uid_$(id -u)" "$("$control" server list --format=csv,noheader | cut -d, -f1 | sort | xargs)"
expect "clients" "inference,default training,batch uid_$(id -u),default" \
  "$("$control" client list --format=csv,noheader | cut -d, -f2,4 | sort | xargs)"
in_batch=$("$control" client list --server=training --format=csv,noheader | cut -d, -f1)
expect "percentage of the namespace" 25.0 "$("$control" report | tr '{' '\n' | grep "\"pid\":$in_batch," | grep -o 'percentage":[0-9.]*' | cut -d: -f2)"
expect "one value" batch "$("$control" client get "$in_batch" maws-ns)"
expect_in "a server with clients stays" "has 1 clients" "$("$control" server delete training 2>&1 || true)"
"$control" server delete training 2> /dev/null && fail "deleting a server with clients has exit status 0"
expect "by force" "Server 'training' deleted" "$("$control" server delete training --force)"
until_true "its client is gone" says closed "$work/batch"
[ ! -e "$root/training" ] || fail "the directory of a deleted server is still there"
expect "the others" 2 "$("$control" client list --format=csv,noheader | wc -l)"
