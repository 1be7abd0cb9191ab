# A program with more rights than its caller ignores the environment that the caller has set.
#   setuid.sh PROBE
set -u
probe=$1
[ "$(id -u)" = 0 ] || { echo "needs root, to make a setuid program"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
case $(findmnt -no OPTIONS -T "$dir") in *nosuid*) echo "$dir is mounted nosuid"; exit 77 ;; esac
cp "$probe" "$dir/probe"
chmod 4755 "$dir/probe"
printf '#!/bin/sh\ntouch %s/chosen\n' "$dir" > "$dir/server"
chmod 755 "$dir/server"

# Runs the probe as a user without rights, with that user's server, logs and pipe directory.
mkdir -m 777 "$dir/users"
setpriv --reuid 65534 --regid 65534 --clear-groups env TUTTI_SERVER="$dir/server" TUTTI_CLIENT_LOG="$dir/users/client.log" \
  TUTTI_SERVER_LOG="$dir/users/server.log" TUTTI_CACHE_DIR="$dir/users/cache" CUDA_MPS_PIPE_DIRECTORY="$dir/users" \
  TUTTI_COMPILER="$dir/server" "$dir/probe" > "$dir/out" 2>&1
result=$(tail -n 1 "$dir/out")
failed=0
[ ! -e "$dir/chosen" ] || { echo "the caller's program was run with the rights of the setuid program"; failed=1; }
[ -z "$(ls "$dir/users")" ] || { echo "files were made where the caller wished: $(ls "$dir/users")"; failed=1; }
[ "$result" = 0 ] || { echo "the program itself: CUresult $result: $(cat "$dir/out")"; failed=1; }
exit $failed
