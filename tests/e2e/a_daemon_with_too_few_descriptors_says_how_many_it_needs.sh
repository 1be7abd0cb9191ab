# Servers inherit the daemon's limit on open files; with fewer than a hundred they could serve no client.
. "$(dirname "$0")/lib.sh"
use_fakes

answer=$( (ulimit -n 64; "$control" -d) 2>&1) && fail "a daemon runs that can serve nobody"
expect_in "what it needs" "the hard limit on open files is 64, and a server needs 120 for one client" "$answer"
expect_in "where that is set" "LimitNOFILE=" "$answer"
# The daemon raises a low soft limit.
(ulimit -S -n 64; "$control" -d)
expect "a client is served" welcome "$("$client")"
