# After 10,000 connections the daemon has as much memory and as many descriptors as after the first 1,000.
. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "a sanitizer keeps freed memory"
use_fakes

"$control" -d
pid=$(daemon_pid)
descriptors() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; }
as_few_descriptors() { [ "$(descriptors)" -le "$before_fds" ]; }
settled() { [ "$(ask 'get_client_list '"$(ask get_server_list)")" = "" ]; }

expect "the first thousand" done "$("$client" --churn 1000)"
until_true "its clients are gone" settled
before_fds=$(descriptors) before_kib=$(resident_kib)
expect "nine thousand more" done "$("$client" --churn 9000)"
until_true "their clients are gone" settled
until_true "no more descriptors than the $before_fds before" as_few_descriptors
# The allocator may round up; a leak of one byte per connection would not show, one of 100 bytes does.
[ "$(resident_kib)" -le $((before_kib + 512)) ] || fail "resident KiB: $before_kib before, $(resident_kib) after"
