. "$(dirname "$0")/lib.sh"
tutti=$bin/tutti
[ -x "$tutti" ] || skip "needs tutti"
cat > "$work/template.json" << EOF
{"name": "gpu", "gpu": {"sharingStrategy": "GPU_SHARING_STRATEGY_MPS", "defaultSharedClientsPerGpu": 4}}
EOF
cat > "$work/pods.yaml" << EOF
kind: Deployment
metadata: {name: small}
spec:
  replicas: 5
  template:
    metadata: {annotations: {tutti.dev/memory: 1Gi}}
    spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}
EOF
cat > "$work/nodes.yaml" << EOF
nodeTypes: [{name: one, gpu: t4, gpuMemory: 16Gi, price: 0.5}]
EOF
plan() { "$tutti" plan --template "$work/template.json" --pods "$work/pods.yaml" --nodes "$work/nodes.yaml" "$@" 2>&1; }
answer=$(plan)
expect_in "five pods in shares of a quarter" "2 nodes of one, where unshared GPUs would need 5" "$answer"
expect_in "the first node is full" "node 0 GPU 0: small x4" "$answer"
expect_in "as JSON" '"free_places": 3' "$(plan --json)"
expect_in "memory that nobody uses: 32 GiB less five times 1" '"wasted_memory_bytes": 28991029248.0' "$(plan --json)"

sed -i 's/1Gi/6Gi/' "$work/pods.yaml"
! answer=$(plan) || fail "a pod that is larger than its share was planned"
expect_in "why" "pod small cannot run on one: it needs 6144 MiB of GPU memory, a share has 4096 MiB" "$answer"
sed -i 's/]$/, {name: large, gpu: a100, gpuMemory: 40Gi}]/' "$work/nodes.yaml"
expect_in "another type does, and the first says why not" "pod small cannot run on one" "$(plan)"
expect_in "how many of the other" "2 nodes of large" "$(plan)"
echo 'gpu: {sharingStrategy: mps, defaultSharedClientsPerGpu: 49}' > "$work/template.json"
expect_in "limits of the template" "template.json:1: gpu.defaultSharedClientsPerGpu must be from 1 to 48, but is 49" "$(plan || true)"
