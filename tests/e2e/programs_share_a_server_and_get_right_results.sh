. "$(dirname "$0")/lib.sh"
use_programs

"$control" -d
names="vector_add matrix_multiply reduction histogram"
for name in $names; do "$(program $name)" --seconds 1 --blocks 2 > "$work/$name" 2>&1 & pids+=" $!"; done
four_clients() { listed=$(ask ps) && [ "$(wc -l <<< "$listed")" = 5 ]; }
until_true "all four in ps" four_clients
expect "servers" 1 "$(ask get_server_list | wc -l)"
for name in $names; do expect_in "ps" "$name" "$listed"; done
for pid in $pids; do wait "$pid" || fail "a program failed: $(cat "$work"/*)"; done
no_clients() { [ -z "$(ask "get_client_list $(ask get_server_list)")" ]; }
until_true "clients gone" no_clients
ask quit || fail "quit"
