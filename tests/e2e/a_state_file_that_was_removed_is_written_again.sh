# A cleaner has emptied the pipe directory: the files that clients need are put back, and so is what the next daemon needs.
. "$(dirname "$0")/lib.sh"
use_fakes

"$control" -d
ask 'set_default_active_thread_percentage 40' > /dev/null
rm -rf "${CUDA_MPS_PIPE_DIRECTORY:?}"/{*,.servers-*}
answers() { [ "$(ask get_default_active_thread_percentage)" = 40.0 ]; }
until_true "it answers again" answers
kept() { [ -f "$CUDA_MPS_PIPE_DIRECTORY/.servers-$(id -u)/state" ]; }
until_true "the state is there again" kept
kill -KILL "$(daemon_pid)"
"$control" -d
expect "settings" 40.0 "$(ask get_default_active_thread_percentage)"
