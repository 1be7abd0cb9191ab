# Sourced by cluster.sh: Helm itself installs the chart, upgrades it to other values and back, and removes it.
helm() { python3 "$here/tests/real/chart/helm.py" "$helm_library" "$work/admin.conf" chart "$@"; }
chart=$here/deployments/helm/tutti
cluster_roles() { k get clusterrole,clusterrolebinding -o name | grep -c plain-device-plugin || true; }
template() { k -n chart get daemonset plain-device-plugin -o "jsonpath={.spec.template.spec$1}"; }

try_chart() {
  helm lint "$chart"
  helm install plain "$chart" > "$work/chart.yaml"
  checked chart plain-device-plugin
  expect "a role and its binding" 2 "$(cluster_roles)"
  # The chart and the static manifest are equivalent.
  expect "what the plugin mounts" "$(k -n tutti get daemonset tutti-device-plugin -o 'jsonpath={.spec.template.spec.containers[0].volumeMounts}')" \
    "$(template '.containers[0].volumeMounts')"
  expect_in "the daemon's pods" '"args":["--run-daemon","--config-file=/config/config.yaml"]' \
    "$(k -n chart get daemonset plain-control-daemon -o 'jsonpath={.spec.template.spec.containers[0]}')"
  # null removes a value of the chart.
  echo '{"daemon": {"env": [{"name": "TUTTI_CPU_SMS", "value": "8"}]}, "config": {"tutti": {"clientLibrary": null, "nodeApi": false, "featureFile": "/features.d/tutti"}}, "nodeSelector": {"gpu": "yes"}}' > "$work/values.json"
  helm upgrade plain "$chart" "$work/values.json" > "$work/other.yaml"
  checked chart plain-device-plugin
  expect "roles, where none are asked for" 0 "$(cluster_roles)"
  expect "libraries, where none are asked for" "" "$(template .initContainers)"
  expect_in "the directory of the feature file" '"mountPath":"/features.d"' "$(template '.containers[0].volumeMounts')"
  expect_in "the daemon's environment" '"env":[{"name":"TUTTI_CPU_SMS","value":"8"}]' "$(k -n chart get daemonset plain-control-daemon -o 'jsonpath={.spec.template.spec.containers[0]}')"
  expect "node selector" '{"gpu":"yes"}' "$(template .nodeSelector)"
  # A node template instead of NVIDIA's file; everything else the chart's own again.
  echo '{"config": {"sharing": null, "gpu": {"sharingStrategy": "mps", "defaultSharedClientsPerGpu": 4}}}' > "$work/values.json"
  helm upgrade plain "$chart" "$work/values.json" > "$work/chart.yaml"
  checked chart plain-device-plugin
  expect "the role is back" 2 "$(cluster_roles)"
  expect "revisions" "plain 3 deployed" "$(helm list)"
  helm uninstall plain
  expect "what is left of it" "" "$(k -n chart get daemonset,configmap,serviceaccount -o name | grep plain || true)"
  expect "cluster roles" 0 "$(cluster_roles)"
  echo "  Helm: the chart was installed, upgraded and removed"
}

if helm_library=$("$here/tools/helm" 2> "$work/helm.log"); then try_chart; else echo "  the chart is not tried: $(tail -n 1 "$work/helm.log")"; fi
