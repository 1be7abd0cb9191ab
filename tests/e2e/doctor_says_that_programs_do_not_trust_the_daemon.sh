. "$(dirname "$0")/lib.sh"
use_doctor_of_another_user

as_user 54321 "$control" -d -M
status=0
diagnosis=$(as_user 65534 "$tutti" doctor 2>&1) || status=$?
expect_problem "the daemon would serve you, but belongs to 54321" "export TUTTI_TRUST_UID=54321"
export TUTTI_TRUST_UID=54321
diagnosis=$(as_user 65534 "$tutti" doctor 2>&1 || true)
[[ "$diagnosis" != *"belongs to 54321"* ]] || fail "a trusted daemon is a problem: $diagnosis"
