# Sourced by the tools: where things are, and how they speak.
root=$(pwd)

say() { printf '%s\n' "$*"; }
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}
