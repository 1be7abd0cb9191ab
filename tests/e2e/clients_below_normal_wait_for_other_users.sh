# A client below normal priority has what normal clients leave, those of other users too, whose servers are others.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to act as two users"
use_endless_programs
as_user 65534 test -r "$bin/tutti-server" || skip "the build directory is closed to other users"
export TUTTI_CPU_SMS=1
ran() { ask report | sed 's/{"pid"/\n&/g' | grep "\"pid\":$1,.*\"counters\"" | sed "s,.*\"counters\",," | grep -o "\"blocks\":[0-9]*"; }
is_seen() { ran "$1"; }
# Unlike as_user in the background, the program itself is what `$!` names.
one=(setpriv --reuid 65534 --regid 65534 --clear-groups)
two=(setpriv --reuid 54321 --regid 54321 --clear-groups)

"$control" -d
endless normal loops_for_ever "${one[@]}"
CUDA_MPS_CLIENT_PRIORITY=1 "${two[@]}" "$(program vector_add)" > "$work/below" 2>&1 &
below=$!
until_true "the program below normal is a client" is_seen $below
sleep 1
expect "blocks of the program below normal" '"blocks":0' "$(ran $below)"
as_user 54321 "$(program vector_add)" > "$work/equal" 2>&1 || fail "a normal program beside them: $(cat "$work/equal")"
expect "blocks of the program below normal" '"blocks":0' "$(ran $below)"
kill $endless
wait $below || fail "the program below normal: $(cat "$work/below")"
