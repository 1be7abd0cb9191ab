#include "sharing/castai_template.h"

#include <gtest/gtest.h>

#include "sharing/config.h"

namespace tutti::sharing {
namespace {

constexpr const char* kTemplate = R"({
  "name": "gpu-mps-template", "shouldTaint": true, "constraints": {"minCpu": 4},
  "gpu": {
    "sharingStrategy": "GPU_SHARING_STRATEGY_MPS",
    "defaultSharedClientsPerGpu": 4,
    "sharingConfiguration": {
      "nvidia-tesla-t4": {"sharedClientsPerGpu": 4},
      "nvidia-tesla-a100": {"sharedClientsPerGpu": 8}
    }
  }
})";

std::string ErrorOf(const std::string& gpu) {
  const auto config = ReadConfig("{\"gpu\": " + gpu + "}", "template.json");
  return config ? "accepted" : config.error().text;
}

TEST(CastAiTemplate, TheApiObjectIsAConfiguration) {
  const Config config = ReadConfig(kTemplate, "template.json").value();
  EXPECT_EQ(config.strategy, Strategy::kMps);
  EXPECT_EQ(config.replication.resources.at(0).replicas, 4);
  EXPECT_TRUE(config.node_template->taint);
  EXPECT_EQ(config.node_template->ClientsOf("nvidia-tesla-a100"), 8);
  EXPECT_EQ(config.node_template->ClientsOf("nvidia-l4"), 4);
}

TEST(CastAiTemplate, LimitsAreOneTo48) {
  EXPECT_EQ(ErrorOf("{\"defaultSharedClientsPerGpu\": 0}"),
            "template.json:1: gpu.defaultSharedClientsPerGpu must be from 1 to 48, but is 0");
  EXPECT_EQ(ErrorOf("{\"sharingConfiguration\": {\"t4\": {\"sharedClientsPerGpu\": 49}}}"),
            "template.json:1: gpu.sharingConfiguration.t4.sharedClientsPerGpu must be from 1 to 48, but is 49");
  EXPECT_EQ(ErrorOf("{\"defaultSharedClientsPerGpu\": 48}"), "accepted");
}

TEST(CastAiTemplate, StrategyNamesAreChecked) {
  EXPECT_EQ(ErrorOf("{\"sharingStrategy\": \"GPU_SHARING_STRATEGY_MSP\"}"),
            "template.json:1: gpu.sharingStrategy cannot be \"GPU_SHARING_STRATEGY_MSP\"; did you mean "
            "GPU_SHARING_STRATEGY_MPS?");
  EXPECT_EQ(ErrorOf("{\"sharingStrategy\": \"mps\", \"enableTimeSharing\": true}"),
            "template.json:1: gpu.enableTimeSharing and sharingStrategy MPS exclude each other: remove the former");
}

TEST(CastAiTemplate, KeysOfGpuAreChecked) {
  EXPECT_EQ(ErrorOf("{\"sharedClientsPerGpu\": 4}"),
            "template.json:1: unknown key \"sharedClientsPerGpu\" in gpu; did you mean defaultSharedClientsPerGpu?");
}

TEST(CastAiTemplate, OtherKeysAreNobodysButSlipsAreNamed) {
  const auto error_of = [](const std::string& text) {
    const auto config = ReadConfig("{\"gpu\": {\"sharingStrategy\": \"mps\"}, " + text + "}", "t");
    return config ? "accepted" : config.error().text;
  };
  EXPECT_EQ(error_of(R"("constraints": {}, "stats": {}, "isDefault": true, "customTaints": [], "version": "3")"),
            "accepted");
  EXPECT_EQ(error_of(R"("shouldTain": true)"),
            "t:1: unknown key \"shouldTain\" in the node template; did you mean shouldTaint?");
  EXPECT_EQ(error_of(R"("tuti": {})"), "t:1: unknown key \"tuti\" in the node template; did you mean tutti?");
  EXPECT_EQ(error_of(R"("sharing": {"mps": {}})"),
            "t:1: gpu, a node template's, and sharing exclude each other: keep one");
}

TEST(CastAiTemplate, OurSectionMayStandBesideTheGpuObject) {
  const Config config =
      ReadConfig("gpu: {sharingStrategy: mps}\nflags: {mpsRoot: /mps}\ntutti: {mountShm: false, nodeApi: true}", "f")
          .value();
  EXPECT_EQ(config.flags.mps_root, "/mps");
  EXPECT_FALSE(config.extension.mount_shm);
  EXPECT_TRUE(config.extension.node_api);
  EXPECT_EQ(ReadConfig("gpu: {sharingStrategy: mps}\ntutti: {mountShn: false}", "f").error().text.substr(0, 4), "f:2:");
}

}  // namespace
}  // namespace tutti::sharing
