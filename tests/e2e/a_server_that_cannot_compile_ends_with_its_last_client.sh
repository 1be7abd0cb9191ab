. "$(dirname "$0")/lib.sh"
use_probe
use_programs
export TUTTI_CACHE_DIR=$work/cache  # empty: a compiler is started
"$control" -d
hold client "$probe"
server=$(ask get_server_list)
spawner=$(cat "/proc/$server/task/$server/children")
expect "who starts compilers" tutti-spawner "$(tr -d '\0' < "/proc/${spawner// /}/cmdline")"
kill -KILL $spawner
until_true "the server says so" says "The process that starts compilers has ended" "$CUDA_MPS_LOG_DIRECTORY/server.log"

# A program that needs a compiler fails and says why; one that runs continues.
if "$(program reduction)" > "$work/program" 2>&1; then fail "something was compiled"; fi
expect_in "what the program says" "nothing can be compiled any more by this server" "$(cat "$work/program")"
expect "server" "$server" "$(ask get_server_list)"
release client
wait "$holder" || fail "the client that was there: $(cat "$work/client")"
until_true "the server has ended" gone "$server"
"$(program reduction)" > "$work/program" 2>&1 || fail "with the next server: $(cat "$work/program")"
