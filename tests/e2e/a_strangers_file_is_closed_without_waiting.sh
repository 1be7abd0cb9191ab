# A process that closes the last descriptor of a FUSE file with dirty data waits for the file's owner, and no signal ends that.
# So the daemon takes descriptors from nobody.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
daemon=$(daemon_pid)
mkdir "$work/mount"
kill -STOP "$daemon"  # so that the stranger closes it first
"$fakes/mute_file" "$work/mount" "$CUDA_MPS_PIPE_DIRECTORY/control" > "$work/stranger" &
stranger=$!
until_true "the stranger's message" grep -q . "$work/stranger"
kill -CONT "$daemon"
says "sent\|not taken" "$work/stranger" || skip "$(cat "$work/stranger")"
! says sent "$work/stranger" || [ "$(printf '6.16\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.16 ] || { kill "$stranger"; skip "before Linux 6.16 anybody can pass descriptors to a socket"; }

descriptors() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
expect "the daemon answers" 100.0 "$(TUTTI_SHELL_TIMEOUT=5 ask get_default_active_thread_percentage)"
before=$(descriptors)
for _ in 1 2 3 4 5; do ask get_server_list; done
all_closed() { [ "$(descriptors)" -le "$before" ]; }
until_true "connections are closed" all_closed
kill -USR2 "$daemon"
has_started_twice() { [ "$(control_log | grep -c 'Starting control daemon')" = 2 ]; }
until_true "it goes on as the program that is installed" has_started_twice
TUTTI_SHELL_TIMEOUT=5 ask 'quit -t 0'
until_true "it has ended" gone "$daemon"
kill "$stranger"
