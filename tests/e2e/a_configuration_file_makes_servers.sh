. "$(dirname "$0")/lib.sh"
use_fakes

cat > "$work/servers.toml" <<TOML
schema_version = "1.0"
[servers.training]
active_thread_percentage = "50"
[servers.training.namespaces.batch]
client_priority = "1"
[[servers.training.devices]]
uuid = "GPU-cb1213a3-d6a4-be7f-0000-000000000000"
[[servers.training.devices.sm_partitions]]
name = "large"
chunks = 1
[features.memacct]
audit_log = true
TOML
"$control" -d -p 3 -a "$work/servers.toml" > /dev/null
is_made() { local list; list=$("$control" sm-partition list --server=training) && [[ "$list" == *created* ]]; }
until_true "the partition is made when its server is ready" is_made
expect "namespaces" "batch,-,1 default,50.0,-" "$("$control" namespace list --format=csv,noheader | cut -d, -f1,5,6 | xargs)"
expect_in "features" true "$("$control" memacct describe)"
"$control" quit

sed -i 's/active_thread/activ_thread/' "$work/servers.toml"
complaint=$("$control" -d -p 3 -a "$work/servers.toml" 2>&1 > /dev/null) && fail "a file with a mistake starts a daemon"
expect "the mistake" "$work/servers.toml:3: key \"activ_thread_percentage\" is unknown in [servers.training]: did you mean \"active_thread_percentage\"?" "$complaint"
expect "no daemon" "Cannot find MPS control daemon process" "$(ask report 2>&1 || true)"
