# A real Prometheus with our rules and alerts scrapes the exporter: a client's metrics arrive, every query of the dashboard has
# an answer, and an alert fires when the daemon is killed.
. "$(dirname "$0")/../e2e/lib.sh"
command -v prometheus > /dev/null || skip "needs prometheus (./dev setup --e2e)"
[ -x "$bin/tutti-exporter" ] || skip "needs tutti-exporter"
use_probe
here=$(cd "$(dirname "$0")/../.." && pwd)
port=$((20000 + $$ % 20000))
export TUTTI_CPU_MEMORY=1G
"$control" -d
ask "set_default_device_pinned_mem_limit 0 512M" > /dev/null
"$bin/tutti-exporter" --address "127.0.0.1:$port" 2> "$work/exporter.log" &
cat > "$work/prometheus.yml" << EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$here/integrations/grafana/alerts.yaml]
scrape_configs:
- job_name: tutti
  static_configs: [{targets: ['127.0.0.1:$port']}]
EOF
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="127.0.0.1:$((port + 1))" \
  --log.level=warn 2> "$work/prometheus.log" &
get() { curl -fsS "http://127.0.0.1:$((port + 1))/api/v1/$1"; }
has() { get "$1" 2> /dev/null | grep -q "$2"; }

until_true "Prometheus scrapes the exporter" has 'query?query=tutti_daemon_up' '"1"'
hold client "$probe" --allocate 64
until_true "the client's memory is there" has 'query?query=tutti_client_memory_used_bytes' '"67108864"'
until_true "under dcgm-exporter's name, in MiB" has 'query?query=DCGM_FI_DEV_FB_USED' '"64"'
until_true "and the derived waste" has 'query?query=tutti:device_memory_waste_bytes' '"1006632960"'
promtool check rules "$here/integrations/grafana/alerts.yaml" > "$work/promtool.log" 2>&1 || fail "promtool: $(cat "$work/promtool.log")"
# Grafana is not in Debian: this asks the dashboard's queries as Grafana would, with all devices selected.
cat > "$work/queries.py" << 'EOF'
import json, sys, urllib.parse, urllib.request
queries, url = [], sys.argv[2] + "/api/v1/query?query="
for panel in json.load(open(sys.argv[1]))["panels"]:
    queries += [target["expr"].replace("$device", ".*") for target in panel["targets"]]
def answers(query):
    try:
        with urllib.request.urlopen(url + urllib.parse.quote(query), timeout=5) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        sys.exit("%s: %s" % (query, error.read().decode()))
silent = [query for query in queries if not answers(query)]
print(len(queries), *silent, sep="\n")
sys.exit(1 if silent or not queries else 0)
EOF
queries() { python3 "$work/queries.py" "$here/integrations/grafana/dashboard.json" "http://127.0.0.1:$((port + 1))" > "$work/queries" 2>&1; }
for _ in 1 2 3 4 5; do queries && break || sleep 2; done
queries || fail "queries of the dashboard, and those without an answer: $(cat "$work/queries")"
expect_in "health of all rules" '"health":"ok"' "$(get rules)"
expect "rules in trouble" "" "$(get rules | grep -o '"health":"[^o][^"]*"' || true)"
expect "no alert yet" "" "$(get alerts | grep -o TuttiDaemonDown || true)"
kill -KILL "$(daemon_pid)"
for _ in 1 2 3; do has alerts '"state":"firing"' || sleep 10; done
until_true "the alert fires" has alerts '"alertname":"TuttiDaemonDown".*"state":"firing"'
echo "prometheus: metrics of a client arrived; all $(head -n 1 "$work/queries") queries of the dashboard are answered; TuttiDaemonDown fired after the daemon was killed"
