# The package's units under a real systemd: a fresh Debian with the package (./dev package) boots in a container, where a
# service performs an administrator's steps.
bin=$1
cd "$(dirname "$(readlink -f "$0")")/../.."
. tools/common.sh
. tests/package/debian.sh
skip() { say "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
command -v systemd-nspawn > /dev/null || skip "needs systemd-nspawn (./dev setup --e2e)"
command -v debootstrap > /dev/null || skip "needs debootstrap (./dev setup --package)"
ls build/package/tutti_*.deb > /dev/null 2>&1 || skip "needs the package (./dev package)"

machine=$(mktemp -d /tmp/tutti-systemd.XXXXXX)
trap 'rm -rf --one-file-system "$machine"' EXIT
chmod 755 "$machine"
fresh_debian "$machine"
cp build/package/tutti_*.deb "$bin/../examples/vector_add_driver" "$machine/root/"
chroot "$machine" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
  bash -c 'apt-get update && apt-get install -y --no-install-recommends systemd systemd-sysv dbus libsystemd0 procps /root/tutti_*.deb' \
  > "$machine/root/install.log" 2>&1 || { tail -n 20 "$machine/root/install.log"; fail "systemd: installing failed"; }
cp tests/real/systemd_inside.sh "$machine/root/"
cat > "$machine/etc/systemd/system/try.service" << EOF
[Unit]
After=dbus.service
[Service]
Type=oneshot
ExecStart=/bin/bash /root/systemd_inside.sh
ExecStopPost=/bin/systemctl poweroff --no-block
StandardOutput=file:/root/result
StandardError=file:/root/result
[Install]
WantedBy=multi-user.target
EOF
ln -s ../try.service "$machine/etc/systemd/system/multi-user.target.wants/try.service" 2> /dev/null || {
  mkdir -p "$machine/etc/systemd/system/multi-user.target.wants"
  ln -s ../try.service "$machine/etc/systemd/system/multi-user.target.wants/try.service"
}
# Without a systemd outside, nothing registers the container.
options=()
[ -d /run/systemd/system ] || options=(--register=no --keep-unit)
timeout --kill-after=10 180 systemd-nspawn -q -D "$machine" --boot --private-network "${options[@]}" < /dev/null > "$machine/root/boot" 2>&1 || true
[ -f "$machine/root/result" ] || {
  tail -n 5 "$machine/root/boot"
  skip "systemd does not boot in a container here"
}
cat "$machine/root/result"
tail -n 1 "$machine/root/result" | grep -q "^systemd: " || { tail -n 40 "$machine/root/journal" 2> /dev/null; fail "systemd: a step failed"; }
