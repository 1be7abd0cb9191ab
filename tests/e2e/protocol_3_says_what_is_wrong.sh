# An error: exit status 1, nothing on stdout, one line on stderr that says what would be right.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d -p 3 > /dev/null
refused() {
  local said
  if said=$("$control" $1 2> "$work/stderr"); then fail "\"$1\" has exit status 0"; fi
  expect "stdout of \"$1\"" "" "$said"
  expect_in "\"$1\"" "$2" "$(cat "$work/stderr")"
}
refused "servr list" "did you mean server?"
refused "server lst" "did you mean list?"
refused "server list --frmat=csv" "did you mean format?"
refused "server list --format=xml" "give table, csv or json"
refused "server create A" "lower-case letters"
refused "server create control" "taken by a file"
refused "server create uid_4711" "reserved for the user with that id"
refused "server create a --locality-domains=true" "no device here has locality domains"
refused "server set nobody --client-priority=1" 'there is no server "nobody"'
refused "namespace create a" "option --server is missing"
refused "namespace get a b" "2 names are given, 3 needed: namespace get <name> <server> <field>"
refused "client terminate 1" "there is no client 1"
refused "sm-partition create p --server=none --device=0 --chunks=1" 'there is no server "none"'
refused "get_server_list" "not a module of protocol 3"
"$control" server create a > /dev/null
refused "server create a" "exists already"
refused "server set a" "nothing to set"
refused "server set a --active-thread-percentage=101" "out of range"
refused "server set a --pinned-memory-limit=4X" "not a size"
refused "sm-partition create p --server=a --device=7 --chunks=1" "there is no device 7"
refused "sm-partition create p --server=a --device=0 --chunks=3" "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"
expect_in "help of a verb" "server create [<name>] [--uid=n]" "$("$control" server create help)"
