. "$(dirname "$0")/lib.sh"
use_programs
export TUTTI_CACHE_DIR=$work/cache  # empty: a compiler is started
"$control" -d
"$(program reduction)" > "$work/program" 2>&1 || fail "$(cat "$work/program")"
compilers() { for pid in $(ours); do [[ "$(readlink "/proc/$pid/exe")" != */tutti-compiler ]] || echo "$pid"; done; }
compiler=$(compilers | head -n 1)
[ -n "$compiler" ] || fail "there is no compiler"
kill -STOP "$compiler"
kill -KILL "$(ask get_server_list)"
until_true "the stopped compiler has ended" gone "$compiler"
