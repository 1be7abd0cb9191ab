. "$(dirname "$0")/lib.sh"
use_doctor_of_another_user

as_user 54321 "$control" -d
status=0
diagnosis=$(as_user 65534 "$tutti" doctor 2>&1) || status=$?
expect_problem "wrong user: the daemon runs as 54321 and serves that user only" "have root start the daemon"
