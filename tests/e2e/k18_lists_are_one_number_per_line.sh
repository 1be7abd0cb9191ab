. "$(dirname "$0")/lib.sh"
use_probe

"$control" -d
hold one "$probe"
one=$holder
hold two "$probe"
server=$(ask get_server_list)
expect "servers" 1 "$(grep -cx '[0-9]\+' <<< "$server")"
expect "clients" "$(printf '%s\n%s\n' "$one" "$holder" | sort)" "$(ask "get_client_list $server" | sort)"
expect "percentage" 100.0 "$(ask "get_active_thread_percentage $server")"
