# Reads CMake's compile_commands.json and writes it with an entry for each source of a batch (tutti_in_batches) in place
# of the batch's: what clang-tidy looks for.
/^{/ { entry = ""; inside = 1 }
inside { entry = entry $0 "\n" }
/^  "file": / { file = $2; gsub(/[",]/, "", file) }
inside && /^}/ {
  inside = 0
  if (file !~ /\/Unity\/unity_[0-9]+_cxx\.cxx$/) { emit(entry); next }
  while ((getline line < file) > 0) {
    if (line !~ /^#include "/) continue
    source = line
    sub(/^#include "/, "", source)
    sub(/"$/, "", source)
    emit(replaced(entry, file, source))
  }
  close(file)
}
function emit(text) { sub(/,?\n$/, "", text); printf "%s%s", any ? ",\n" : "[\n", text; any = 1 }
function replaced(text, from, to,   at, head) {  # all of them, nothing of it a pattern
  head = ""
  while ((at = index(text, from)) > 0) {
    head = head substr(text, 1, at - 1) to
    text = substr(text, at + length(from))
  }
  return head text
}
END { print "\n]" }
