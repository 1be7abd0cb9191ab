#include "sharing/node_labels.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "sharing/document.h"

namespace tutti::sharing {
namespace {

const std::vector<DeviceFacts> kDevices = {{"GPU-a", "Tesla T4", 15360ull << 20, 40, "7.5"}};

std::map<std::string, std::string> Labels(const char* text) {
  return NodeLabels(ReadConfig(text, "f").value(), kDevices);
}

TEST(NodeLabels, AreThoseOfGpuFeatureDiscovery) {
  auto labels = Labels("sharing: {mps: {resources: [{name: gpu, replicas: 10}]}}");
  EXPECT_EQ(labels["nvidia.com/mps.capable"], "true");
  EXPECT_EQ(labels["nvidia.com/gpu.sharing-strategy"], "mps");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "10");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "Tesla-T4-SHARED");
  EXPECT_EQ(labels["nvidia.com/gpu.memory"], "15360");
  EXPECT_EQ(labels["nvidia.com/gpu.family"], "turing");
  EXPECT_EQ(labels["nvidia.com/gpu.compute.major"], "7");
}

TEST(NodeLabels, UnsharedDevicesHaveOneReplica) {
  auto labels = Labels("version: v1");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "Tesla-T4");
  EXPECT_EQ(labels["nvidia.com/mps.capable"], "false");
}

TEST(NodeLabels, ARenamedResourceKeepsTheProduct) {
  EXPECT_EQ(
      Labels(
          "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 2}]}}")["nvidia.com/gpu.product"],
      "Tesla-T4");
}

TEST(NodeLabels, OfANodeTemplateAreCastAis) {
  constexpr const char* kTemplate =
      "{name: gpu template, shouldTaint: true, gpu: {sharingStrategy: mps, defaultSharedClientsPerGpu: 4}}";
  auto labels = Labels(kTemplate);
  EXPECT_EQ(labels["scheduling.cast.ai/gpu-shared"], "4");
  EXPECT_EQ(labels["scheduling.cast.ai/gpu-sharing-strategy"], "mps");
  EXPECT_EQ(labels["scheduling.cast.ai/node-template"], "gpu-template");
  EXPECT_EQ(NodeTaints(ReadConfig(kTemplate, "f").value()).at(0).key, "scheduling.cast.ai/node-template");
}

TEST(NodeLabels, TheFeatureFileHasALineEach) {
  char directory[] = "/tmp/tutti-labels.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/tutti";
  ASSERT_TRUE(WriteFeatureFile(path, {{"a/b", "1"}, {"c/d", "x"}}));
  EXPECT_EQ(ReadFile(path).value(), "a/b=1\nc/d=x\n");
  EXPECT_FALSE(WriteFeatureFile("/nowhere/at/all", {}));
  remove(path.c_str());
  EXPECT_EQ(rmdir(directory), 0) << "nothing else is left";
}

}  // namespace
}  // namespace tutti::sharing
