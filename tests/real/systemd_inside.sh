# Runs in the container that systemd.sh boots.
set -euo pipefail
trap 'status=$?; [ $status -eq 0 ] || journalctl --no-pager -u "tutti*" > /root/journal 2>&1' EXIT
fail() { echo "FAILED: $*"; systemctl --no-pager status tutti.service tutti.socket tutti-shared.service 2>&1 | head -n 40; exit 1; }
expect() { [ "$2" = "$3" ] || fail "$1: wanted \"$2\", got \"$3\""; }
until_true() {
  for _ in $(seq 200); do if "${@:2}" > /dev/null 2>&1; then return 0; fi; sleep 0.1; done
  fail "not within 20 s: $1"
}
main_pid() { systemctl show -p MainPID --value "$1"; }
servers() { pgrep -c -f daemon-socket-fd || true; }
percentage() { [ "$(echo get_default_active_thread_percentage | nvidia-cuda-mps-control)" = 100.0 ]; }
export TUTTI_CACHE_DIR=/root/cache

echo "the installation starts and enables nothing"
for unit in tutti.service tutti.socket tutti-shared.service; do expect "$unit" inactive "$(systemctl is-active $unit || true)"; done
systemd-analyze verify tutti.service tutti.socket tutti-shared.service 2>&1 | grep -v "man tutti-control" | grep tutti && fail "what systemd-analyze says"

echo "start: ready when systemctl returns, and programs are served"
systemctl start tutti
percentage || fail "no answer"
expect "process" "$(main_pid tutti)" "$(cat /tmp/nvidia-mps/nvidia-cuda-mps-control.pid)"
expect "it has said so itself" "Accepting clients" "$(systemctl show -p StatusText --value tutti)"
/root/vector_add_driver > /dev/null || fail "a program"

echo "reload: the logs go on in new files"
mv /var/log/nvidia-mps/control.log /var/log/nvidia-mps/control.log.1
systemctl reload tutti
until_true "a new log" grep -q "Log reopened" /var/log/nvidia-mps/control.log

echo "an end by signal is followed by a start, and disturbs no program"
/root/vector_add_driver --seconds 10 > /dev/null &
program=$!
has_a_client() { [ "$(echo ps | nvidia-cuda-mps-control | wc -l)" = 2 ]; }
until_true "its client" has_a_client
server=$(echo get_server_list | nvidia-cuda-mps-control)
killed=$(main_pid tutti)
kill -KILL "$killed"
another() { [ "$(main_pid tutti)" != "$1" ] && percentage; }
until_true "another daemon" another "$killed"
until_true "its client, adopted" has_a_client
/root/vector_add_driver > /dev/null || fail "a program of the second daemon"
expect "servers" "$server" "$(echo get_server_list | nvidia-cuda-mps-control)"
wait $program || fail "the program that ran while the daemon was killed"

echo "so is a daemon that hangs"
mkdir -p /run/systemd/system/tutti.service.d
printf '[Service]\nWatchdogSec=1\nTimeoutAbortSec=1\n' > /run/systemd/system/tutti.service.d/hurry.conf
systemctl daemon-reload
systemctl restart tutti
hanging=$(main_pid tutti)
kill -STOP "$hanging"
until_true "a daemon that answers" another "$hanging"

echo "an upgrade goes on in the same process"
/root/vector_add_driver > /dev/null || fail "a program"
before=$(main_pid tutti)
kill -USR2 "$before"
until_true "it goes on" grep -q "of the previous program serves" /var/log/nvidia-mps/control.log
until_true "systemd is told" systemctl is-active tutti
expect "process" "$before" "$(main_pid tutti)"
percentage || fail "no answer"

echo "stop: no server is left"
systemctl stop tutti
expect "servers" 0 "$(servers)"
[ ! -e /tmp/nvidia-mps/control ] || fail "the socket is left"

echo "a killed daemon that nobody starts again leaves its servers; the package's removal ends them"
mkdir -p /run/systemd/system/tutti.service.d
printf '[Service]\nRestart=no\n' > /run/systemd/system/tutti.service.d/alone.conf
systemctl daemon-reload
systemctl start tutti
/root/vector_add_driver --seconds 30 > /dev/null 2>&1 &
program=$!
until_true "its client" has_a_client
kill -KILL "$(main_pid tutti)"
until_true "the daemon has failed" systemctl is-failed tutti
systemctl stop tutti
expect "servers" 1 "$(servers)"
sh /var/lib/dpkg/info/tutti.prerm remove > /dev/null 2>&1 || true
no_server() { [ "$(servers)" = 0 ]; }
until_true "its servers end" no_server
wait $program && fail "a program whose server has been killed"
sh /var/lib/dpkg/info/tutti.postinst configure > /dev/null 2>&1 || fail "the package's own set-up"
rm /run/systemd/system/tutti.service.d/alone.conf
systemctl daemon-reload
systemctl reset-failed tutti

echo "socket: the first command starts the daemon"
systemctl start tutti.socket
expect "the daemon" inactive "$(systemctl is-active tutti || true)"
percentage || fail "no answer"
expect "the daemon" active "$(systemctl is-active tutti)"
/root/vector_add_driver > /dev/null || fail "a program"
systemctl stop tutti.socket tutti

echo "one server for all, of a user of its own"
systemctl start tutti-shared
/root/vector_add_driver > /dev/null 2>&1 && fail "a program uses a daemon that it has not been told to trust"
export TUTTI_TRUST_UID=$(id -u tutti)
/root/vector_add_driver > /dev/null || fail "a program"
expect "whose server" tutti "$(ps -o user= -p "$(pgrep -f daemon-socket-fd | head -n 1)")"
systemctl stop tutti-shared
expect "servers" 0 "$(servers)"
echo "systemd: the units do what they say"
