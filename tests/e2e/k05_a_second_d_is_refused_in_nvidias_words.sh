. "$(dirname "$0")/lib.sh"

"$control" -d
status=0
text=$("$control" -d 2> "$work/stderr") || status=$?
expect "status" 1 $status
expect "stdout" "An instance of this daemon is already running" "$text"
expect "stderr" "" "$(cat "$work/stderr")"
# Slurm's prolog continues after it.
expect "the first one serves" 100.0 "$(ask get_default_active_thread_percentage)"
