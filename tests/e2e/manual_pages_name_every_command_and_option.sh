. "$(dirname "$0")/lib.sh"
pages=$(dirname "$0")/../../packaging/man

# In mdoc an option --like-this is written "Fl -like-this", a command "Ic like_this".
option() { grep -qE -- "(Fl|,) ?${2#-}( |$|,)|Fl .* ${2#-}( |$)" "$pages/$1" || fail "$1 does not name the option $2"; }
command_of() { grep -qE -- "^\.It Ic (.*[ ,])?$2( |$)|, Ic $2( |$)|Ic $2 ," "$pages/$1" || fail "$1 does not name the command $2"; }
for word in $("$control" -h | sed -n '/^Options:/,/^$/p' | grep -E '^ +-' | sed 's/^ *//; s/  .*//' | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z-]*' | tr -d ' ,'); do option tutti-control.1 "$word"; done
"$control" -d
for word in $(ask help | awk '/^[a-z]/ { print $1 }'); do command_of tutti-control.1 "$word"; done
[ -x "$bin/tutti" ] || skip "needs tutti for the rest"
for word in $("$bin/tutti" --help | sed '1,/^Subcommands:/d' | awk '/^  [a-z]/ { print $1 }'); do command_of tutti.1 "$word"; done
for word in $("$bin/tutti-server" --help | grep -oE -- '--[a-z][a-z-]*' | sort -u | grep -v -e --help -e --version -e --shared); do option tutti-server.8 "$word"; done
for program in "$bin"/tutti*; do
  ls "$pages/$(basename "$program")".[18] > /dev/null 2>&1 || fail "$(basename "$program") has no manual page"
done
for page in "$pages"/*; do
  if command -v mandoc > /dev/null; then mandoc -Tlint -Werror "$page" || fail "$page"; fi
done
