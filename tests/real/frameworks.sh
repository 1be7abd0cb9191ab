# Frameworks of Python as they come from PyPI (tests/real/frameworks/requirements), on the CPU device under `tutti run`: NVIDIA's
# cuda.core, CuPy, NCCL, JAX, PyTorch between processes, Triton on its tensors, torch.compile, and numba-cuda's own tests (about 50
# minutes). Writes the table of docs/reference/compatibility.md, and fails where less is right than expected.tsv says.
#   FRAMEWORKS="cupy triton"   only these; the table's other rows are of the last runs here
. "$(dirname "$0")/../e2e/lib.sh"
use_programs
[ -x "$bin/tutti" ] || skip "needs tutti"
python3 -c 'import venv, ensurepip' 2> /dev/null || skip "needs python3-venv (./dev setup --e2e)"
here=$(cd "$(dirname "$0")" && pwd)
kept=$bin/../frameworks  # environments and code caches outlive the test
results=$kept/results
mkdir -p "$kept" "$results"
unset LD_LIBRARY_PATH
export TUTTI_CACHE_DIR=$kept/cache TRITON_CACHE_DIR=$kept/triton CUPY_CACHE_DIR=$kept/cupy TUTTI_QUIET=1

# environment NAME: makes or updates $kept/NAME; prints the path of its python.
environment() {
  local list=$here/frameworks/requirements/$1.txt home=$kept/env-$1
  if ! cmp -s "$list" "$home/installed.txt"; then
    echo "frameworks: installing $(xargs < "$list")" >&2
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check -r "$list" >&2 || fail "pip could not install $list"
    cp "$list" "$home/installed.txt"
  fi
  echo "$home/bin/python"
}
# cases ENVIRONMENT FILE SETTINGS: runs the file's cases; SETTINGS are variables for it.
cases() {
  local python settings file
  [[ " ${FRAMEWORKS:-cuda_core cupy jax nccl triton numba} " == *" $1 "* ]] || return 0
  python=$(environment "$1")
  read -ra settings <<< "$3"
  file=$results/$2${3//[^A-Z0-9.]/_}.jsonl
  rm -f "$file"
  env "${settings[@]}" "$bin/tutti" run -- "$python" "$here/frameworks/$2.py" --results "$file" --settings "$3"
}

cases cuda_core cuda_core_cases ""
cases cupy cupy_cases ""
cases cupy cupy_cases "TUTTI_COMPUTE_CAPABILITY=13.0"
"$control" -d > /dev/null  # what processes share memory through
cases cupy cupy_sharing_cases ""
cases triton torch_sharing_cases ""
ask 'quit -t 1'
TUTTI_CPU_DEVICES=2 TUTTI_COMPUTE_CAPABILITY=12.0 "$control" -d  # a device for each rank; NCCL has PTX for 12.0
cases nccl nccl_cases "TUTTI_COMPUTE_CAPABILITY=12.0"
cases triton torch_distributed_cases "TUTTI_COMPUTE_CAPABILITY=12.0"
ask 'quit -t 1'
cases triton triton_cases ""
cases triton inductor_cases ""
cases jax jax_cases ""
cases jax jax_devices_cases "TUTTI_CPU_DEVICES=2"
cases numba numba_suite ""

python3 "$here/frameworks/table.py" "$results"/*.jsonl | tee "$kept/table.md"
page=$here/../../docs/reference/compatibility.md
{ sed '/^<!-- frameworks:/q' "$page"; cat "$kept/table.md"; sed -n '/^<!-- end of frameworks -->/,$p' "$page"; } > "$work/page"
cp "$work/page" "$page"
python3 "$here/frameworks/expected.py" "$here/frameworks/expected.tsv" "$results"/*.jsonl
