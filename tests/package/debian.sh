# For scripts that try the package in a Debian of their own: fresh_debian ROOT unpacks Debian 12 there. It keeps the base in
# build/package/base.tar, so that the second time takes seconds.
fresh_debian() {
  local base=$root/build/package/base.tar
  if [ ! -f "$base" ]; then
    say "fetching Debian 12 (once)"
    mkdir -p "$(dirname "$base")"
    debootstrap --variant=minbase bookworm "$1" > "$base.log" 2>&1 || fail "debootstrap failed; see $base.log"
    printf 'deb http://deb.debian.org/debian bookworm main\ndeb http://deb.debian.org/debian-security bookworm-security main\n' > "$1/etc/apt/sources.list"
    tar -C "$1" -cf "$base" .
  else
    tar -C "$1" -xf "$base"
  fi
  chmod 755 "$1"  # whatever the caller's umask: others than root use it, too
  cp /etc/resolv.conf "$1/etc/" 2> /dev/null || true
}
