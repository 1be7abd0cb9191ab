# Runs the tests of the alerts with Prometheus' own tool.
command -v promtool > /dev/null || { echo "skipped: needs promtool, of the package prometheus (./dev setup --e2e)"; exit 77; }
exec promtool test rules "$(dirname "$0")/alerts_test.yaml"
