# A PTX text and what the fence makes of it: fence_text.sh COMPILER TEXT OUTPUT writes OUTPUT.plain.ptx and OUTPUT.fenced.ptx.
# Where the fence refuses the text there is no second one; the first comes last, as the sign that both are there.
set -eu
rm -f "$3.fenced.ptx"
"$1" "$2" --emit fenced-ptx -o "$3.fenced.ptx" || rm -f "$3.fenced.ptx"
cp "$2" "$3.plain.ptx"
