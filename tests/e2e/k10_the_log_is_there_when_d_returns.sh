. "$(dirname "$0")/lib.sh"

"$control" -d
# In the DRA template a failing tail ends the container.
tail -n +1 -f "$CUDA_MPS_LOG_DIRECTORY/control.log" > "$work/tail" &
until_true "first line" says "Starting control daemon using socket $CUDA_MPS_PIPE_DIRECTORY/control" "$work/tail"
ask 'set_default_device_pinned_mem_limit 0 4606M'
until_true "a command" says "Cmd:set_default_device_pinned_mem_limit 0 4606M" "$work/tail"
stamp='[[][0-9-]\{10\} [0-9:]\{8\}\.[0-9]\{3\} Control *[0-9]\{1,\}\] '
expect "lines of another form" "" "$(grep -v "^$stamp" "$work/tail" || true)"
