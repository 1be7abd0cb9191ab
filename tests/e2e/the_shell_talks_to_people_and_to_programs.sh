# A prompt, completion and history on a terminal; none of them on a pipe.
. "$(dirname "$0")/lib.sh"
use_fakes
has_terminal || skip "needs script (bsdutils) and /dev/pts"

"$control" -d
expect "a pipe has no prompt" "100.0" "$(printf 'get_default_active_thread_percentage\n' | "$control")"
export HOME=$work TERM=xterm
unset XDG_STATE_HOME
typed() { { sleep 0.2; printf "$1"; sleep 0.5; printf '\004'; sleep 0.2; } | script -qec "$control" /dev/null | tr -d '\r'; }
said=$(typed 'get_default_act\t\n')
expect_in "the prompt" "tutti> " "$said"
expect_in "the completed word's answer" "100.0" "$said"
expect_in "words to choose from" "get_default_device_pinned_mem_limit" "$(typed 'get_def\t\t\n')"
grep -q 'get_default_active_thread_percentage' "$work/.local/state/tutti/control_history" || fail "the history is not kept"
