. "$(dirname "$0")/lib.sh"
use_probe

"$control" -d
expect "as arguments" "" "$("$control" start_server -uid "$(id -u)")"
some() { [ -n "$(ask get_server_list)" ]; }
until_true "a server" some
ask "shutdown_server $(ask get_server_list)"
none() { [ -z "$(ask get_server_list)" ]; }
until_true "no server" none
expect "on stdin" "" "$(echo "start_server -uid $(id -u)" | "$control")"
one() { [ "$(ask get_server_list | wc -l)" = 1 ]; }
until_true "a server again" one
