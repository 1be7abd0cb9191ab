#include "daemon/servers/server_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti::daemon {
namespace {

constexpr uint64_t kGiB = 1ull << 30;

std::vector<wire::ServedDevice> TwoDevices() {
  std::vector<wire::ServedDevice> devices(2);
  devices[1].uuid[0] = 0xab;
  return devices;
}

TEST(EffectiveAttach, TheLowerPercentageHoldsAndNeverTheirProduct) {
  ServerSettings settings{.active_thread_percentage = 12};
  EXPECT_EQ(EffectiveAttach({.active_thread_percentage = "12"}, settings, 0, {}).active_thread_percentage, 12);
  EXPECT_EQ(EffectiveAttach({.active_thread_percentage = "5"}, settings, 0, {}).active_thread_percentage, 5);
  EXPECT_EQ(EffectiveAttach({.active_thread_percentage = "50"}, settings, 0, {}).active_thread_percentage, 12);
  EXPECT_EQ(EffectiveAttach({.active_thread_percentage = "banana"}, settings, 0, {}).active_thread_percentage, 12);
}

TEST(EffectiveAttach, AClientCanOnlyLowerItsMemoryLimit) {
  ServerSettings settings;
  settings.memory_limits.Set("0", 2 * kGiB);
  const auto lower = EffectiveAttach({.pinned_memory_limit = "0=1G"}, settings, 0, TwoDevices());
  ASSERT_EQ(lower.memory_limits.size(), 1u);
  EXPECT_EQ(lower.memory_limits[0].bytes, kGiB);
  const auto higher = EffectiveAttach({.pinned_memory_limit = "0=8G"}, settings, 0, TwoDevices());
  EXPECT_EQ(higher.memory_limits[0].bytes, 2 * kGiB);
}

TEST(EffectiveAttach, ALimitMayNameADeviceByUuid) {
  const auto attach = EffectiveAttach({.pinned_memory_limit = "GPU-ab=1G"}, {}, 0, TwoDevices());
  ASSERT_EQ(attach.memory_limits.size(), 1u);
  EXPECT_EQ(attach.memory_limits[0].device, 1u);
}

TEST(EffectiveAttach, AClientMayChooseItsPriorityOverTheDefault) {
  EXPECT_EQ(EffectiveAttach({}, {}, 1, {}).priority, 1);
  EXPECT_EQ(EffectiveAttach({.client_priority = "0"}, {}, 1, {}).priority, 0);
}

TEST(Defaults, ComeFromTheEnvironmentAndIgnoreWhatCannotBeRead) {
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25", 1);
  setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "nonsense", 1);
  const Defaults defaults = Defaults::FromEnvironment();
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
  EXPECT_EQ(defaults.server.active_thread_percentage, 25);
  EXPECT_TRUE(defaults.server.memory_limits.empty());
}

}  // namespace
}  // namespace tutti::daemon
