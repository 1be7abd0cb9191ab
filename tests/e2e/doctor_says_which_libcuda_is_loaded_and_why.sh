. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "the programs it looks at have no sanitizer in them"
use_doctor
export TUTTI_STATE_DIR=$work/state

# LD_LIBRARY_PATH leads to another library of that name.
mkdir "$work/other" "$work/its_own"
cp "$bin/../lib/libcuda.so.1" "$work/other"
LD_LIBRARY_PATH=$work/other doctor
expect_problem "$work/other/libcuda.so.1 is loaded, because LD_LIBRARY_PATH names its directory; it is not ours" "tutti run"
# The program's RUNPATH does; LD_LIBRARY_PATH takes precedence.
cp "$fakes/program_with_runpath" "$work/program"
cp "$bin/../lib/libcuda.so.1" "$work/its_own"
LD_LIBRARY_PATH='' doctor "$work/program"
expect_problem "$work/its_own/libcuda.so.1 is loaded, because its RUNPATH was linked into the program" "tutti run"
doctor "$work/program"
expect_in "LD_LIBRARY_PATH goes before RUNPATH" "OK       $work/program: $LD_LIBRARY_PATH/libcuda.so.1 is loaded" "$diagnosis"
LD_PRELOAD=$work/other/libcuda.so.1 doctor
expect_problem "$work/other/libcuda.so.1 is loaded, because LD_PRELOAD names it" "unset LD_PRELOAD"
