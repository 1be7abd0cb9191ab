#include "sharing/plan_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

TEST(PlanInput, PodsComeFromTheManifestsTheyAreDeployedWith) {
  const auto pods = ReadPods(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: inference}
spec:
  replicas: 4
  template:
    metadata: {annotations: {tutti.dev/memory: 1500Mi, tutti.dev/threads: "12"}}
    spec:
      nodeSelector: {scheduling.cast.ai/node-template: gpu-mps-template}
      tolerations: [{key: scheduling.cast.ai/node-template, operator: Exists}]
      containers:
      - name: a
        resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {nvidia.com/gpu: 1}}
      - name: sidecar
        resources: {requests: {cpu: 250m}}
---
kind: Service
---
{"kind": "Pod", "metadata": {"name": "old"}, "spec": {"hostIPC": true, "containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}}
)",
                             "pods.yaml")
                        .value();
  ASSERT_EQ(pods.size(), 2u);
  EXPECT_EQ(pods[0].count, 4);
  EXPECT_EQ(pods[0].gpus, 1);
  EXPECT_DOUBLE_EQ(pods[0].cpus, 0.75);
  EXPECT_EQ(pods[0].gpu_memory_bytes, 1500ull << 20);
  EXPECT_EQ(pods[0].node_template, "gpu-mps-template");
  EXPECT_THAT(pods[0].tolerated_keys, testing::ElementsAre("scheduling.cast.ai/node-template"));
  EXPECT_EQ(pods[1].gpus, 2);
  EXPECT_TRUE(pods[1].host_ipc);
}

TEST(PlanInput, WhatHasALimitAndNoRequestAsksForItsLimit) {
  const auto pods =
      ReadPods("{kind: Pod, spec: {containers: [{resources: {limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 1}}}]}}",
               "p")
          .value();
  EXPECT_DOUBLE_EQ(pods[0].cpus, 1);
  EXPECT_DOUBLE_EQ(pods[0].memory_bytes, 4.0 * (1ull << 30));
}

TEST(PlanInput, ErrorsNameTheLine) {
  EXPECT_EQ(ReadPods("kind: Pod\nspec:\n  containers:\n  - resources: {limits: {nvidia.com/gpu: -1}}\n", "p")
                .error()
                .text.substr(0, 24),
            "p:4: \"-1\" is no quantity");
  EXPECT_EQ(ReadNodeTypes("nodeTypes: [{name: a, gpu: t4, gpuMemory: 99Ei}]", "n").error().text,
            "n:1: \"99Ei\" is more memory than there can be");
  EXPECT_EQ(
      ReadPods("kind: Pod\nspec:\n  containers:\n  - resources: {limits: {nvidia.com/gpu: 0.5}}\n", "p").error().text,
      "p:4: nvidia.com/gpu must be a whole number, but is 0.5");
  EXPECT_EQ(ReadPods("kind: Service", "p").error().text,
            "p: no pods: give manifests of Pod, Deployment, StatefulSet, ReplicaSet or Job");
  EXPECT_EQ(ReadPods("spec: {}", "p").error().text, "p:1: a manifest needs its kind: Pod, Deployment, ...");
  EXPECT_EQ(ReadNodeTypes("nodeTypes: [{name: a, gpu: t4, gpuMem: 16Gi}]", "n").error().text,
            "n:1: unknown key \"gpuMem\" in nodeTypes[0]; did you mean gpuMemory?");
}

}  // namespace
}  // namespace tutti::sharing
