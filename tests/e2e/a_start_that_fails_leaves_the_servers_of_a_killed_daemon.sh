# The next daemon is told something that it cannot do. The one after it finds the servers as they were.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
"$client" --hold > "$work/client" &
until_true "welcome" says welcome "$work/client"
server=$(ask get_server_list)
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"

printf 'schema_version = "1.0"\n[servers.control]\n' > "$work/servers.toml"
if said=$("$control" -d -p 3 -a "$work/servers.toml" 2>&1); then fail "it started"; fi
expect_in "why" 'server name "control" is taken' "$said"
sleep 0.2
gone "$server" && fail "the server has ended"
says closed "$work/client" && fail "the client was told that its server has ended"

expect "what the next start says" "the previous daemon was killed: this one continues with its settings and servers (without them: --fresh)" \
  "$("$control" -d 2>&1)"
expect "servers" "$server" "$(ask get_server_list)"
expect "a new client" welcome "$("$client")"
expect "servers" "$server" "$(ask get_server_list)"
