# /proc with hidepid and gid, as clusters have it: root without CAP_SYS_PTRACE (a service) sees no process of another user.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
use_fakes
inside() { unshare --mount --propagation private bash -c 'mount -t proc -o hidepid=invisible,gid=4712 proc /proc && exec setpriv --bounding-set=-sys_ptrace "$@"' - "$@"; }
inside true 2> /dev/null || skip "needs a /proc of its own"
chmod 755 "$work"

inside "$control" -d
as_user 4711 "$client" --hold > "$work/one" &
until_true "welcome" says welcome "$work/one"
server=$(inside "$control" get_server_list)
kill -KILL "$(daemon_pid)"
until_true "daemon gone" gone "$(daemon_pid)"
inside "$control" -d
expect "servers" "$server" "$(inside "$control" get_server_list)"
expect_in "what is said" "Server $server of user 4711 has outlived its daemon and is adopted" "$(control_log)"
expect "the next client" welcome "$(as_user 4711 "$client")"
expect "servers" "$server" "$(inside "$control" get_server_list)"
