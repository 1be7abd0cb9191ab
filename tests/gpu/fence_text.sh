# Writes a PTX text and its fenced version: fence_text.sh FENCE TEXT OUTPUT writes OUTPUT.plain.ptx and OUTPUT.fenced.ptx. Where
# the fence refuses the text there is no second one. Writes the first one last, as the sign that both are complete.
set -eu
rm -f "$3.fenced.ptx"
"$1" "$2" --own-context -o "$3.fenced.ptx" || rm -f "$3.fenced.ptx"
cp "$2" "$3.plain.ptx"
