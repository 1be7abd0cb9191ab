# Each user has a server; what the programs of all of them have together never exceeds the device, also when a server is
# killed, or the daemon.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_probe
as_user 65534 test -r "$bin/tutti-server" || skip "the build directory is closed to other users"
export TUTTI_CPU_MEMORY=1G
one() { as_user 65534 "$probe" "$@"; }
two() { as_user 54321 "$probe" "$@"; }
server_of() { for server in $(ask get_server_list); do [ "$(stat -c %u "/proc/$server")" != "$1" ] || echo "$server"; done; }
# Others' memory is not free, as soon as it is taken.
free_of_two() { two | grep -o 'free_mib=[0-9]*'; }

"$control" -d
hold first one --allocate 700
expect_in "the first user" "allocated 700" "$(cat "$work/first")"
kill -STOP "$(server_of 65534)"  # it need not answer
expect "free memory as the second user sees it" free_mib=324 "$(free_of_two)"
kill -CONT "$(server_of 65534)"
expect "more than is left" CUDA_ERROR_OUT_OF_MEMORY "$(two --allocate 400 | tail -n 1)"
expect "what is left" "allocated 300" "$(two --allocate 300 | tail -n 1)"
hold second two --allocate 300
expect "a third program, of the first user" CUDA_ERROR_OUT_OF_MEMORY "$(one --allocate 100 | tail -n 1)"
release second
wait "$holder"
expect "when that has gone" "allocated 100" "$(one --allocate 100 | tail -n 1)"

kill -KILL "$(daemon_pid)"
"$control" -d
two_servers() { [ "$(ask get_server_list | wc -l)" = 2 ]; }
until_true "both servers under the next daemon" two_servers
expect "more than is left, under the next daemon" CUDA_ERROR_OUT_OF_MEMORY "$(two --allocate 400 | tail -n 1)"

kill -9 "$(server_of 65534)"
all_is_free() { [ "$(free_of_two)" = free_mib=1024 ]; }
until_true "what a killed server had is free" all_is_free
expect "all of it" "allocated 1000" "$(two --allocate 1000 | tail -n 1)"
release first
ask 'quit -t 0' || fail "quit"
