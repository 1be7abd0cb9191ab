#include "sharing/gpu_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

using testing::ElementsAre;

std::string Text(const std::string& sharing) {
  return "apiVersion: resource.nvidia.com/v1beta1\nkind: GpuConfig\nsharing: " + sharing;
}
std::string ErrorOf(const std::string& sharing) {
  const auto config = ReadGpuConfig(Text(sharing), "f");
  return config ? "accepted" : config.error().text;
}

TEST(GpuConfig, BecomesTheCommandsOfTheDriversTemplate) {
  const auto config =
      ReadGpuConfig(
          Text(R"({strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: 2Gi,
    defaultPerDevicePinnedMemoryLimit: {"1": 1G}, multiUser: true}})"),
          "f")
          .value();
  EXPECT_TRUE(config.multi_user);
  const std::string uuids[] = {"GPU-a", "GPU-b"};
  EXPECT_THAT(GpuConfigCommands(config, uuids).value(),
              ElementsAre("set_default_active_thread_percentage 50", "set_default_device_pinned_mem_limit GPU-a 2048M",
                          "set_default_device_pinned_mem_limit GPU-b 953M"));
}

TEST(GpuConfig, TheDriversRefusals) {
  EXPECT_EQ(ErrorOf("{strategy: mps}"), "f:3: unknown GPU sharing strategy: mps, supported: TimeSlicing, MPS");
  EXPECT_EQ(ErrorOf("{strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: -1}}"),
            "f:3: active thread percentage must not be negative");
  EXPECT_EQ(ErrorOf("{strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}"),
            "f:3: active thread percentage must not be greater than 100");
  EXPECT_EQ(ErrorOf("{strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 10k}}"),
            "f:3: invalid limit 10k: value set too low: less than 1Mi");
  EXPECT_EQ(ErrorOf("{strategy: TimeSlicing, mpsConfig: {}}"), "f:3: mpsConfig needs strategy MPS");
}

TEST(GpuConfig, ADeviceThatTheClaimDoesNotHaveIsRefused) {
  const auto config =
      ReadGpuConfig(Text("{strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {\"2\": 1Gi}}}"), "f").value();
  const std::string uuids[] = {"GPU-a"};
  EXPECT_EQ(GpuConfigCommands(config, uuids).error().text,
            "invalid device \"2\": the claim has 1 devices; use an index or one of their UUIDs");
}

}  // namespace
}  // namespace tutti::sharing
