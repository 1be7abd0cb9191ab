. "$(dirname "$0")/lib.sh"
use_doctor
export TUTTI_STATE_DIR=$work/state

mkdir "$work/pipe"
"$fakes/fake_client" --listen > "$work/other" &
until_true "another daemon" says listening "$work/other"
doctor
expect_problem "what listens in $work/pipe (process $!) does not speak our protocol" "end it with its own program"
