#include "daemon/access/claim.h"

#include <gtest/gtest.h>

#include "control/words.h"
#include "cuda/result.h"

namespace tutti::daemon {
namespace {

Claim Read(const std::string& line) {
  const auto claim = ReadClaim(control::SplitWords(line));
  EXPECT_TRUE(claim) << claim.error().text;
  return claim ? *claim : Claim{};
}

std::vector<wire::ServedDevice> TwoDevices() {
  std::vector<wire::ServedDevice> devices(2);
  devices[0].uuid[0] = 0xaa;
  devices[1].uuid[0] = 0xbb;
  return devices;
}

wire::Attach Asking(double percentage) {
  return {.active_thread_percentage = percentage, .own_percentage = percentage};
}

TEST(Claim, IsReadAsItIsWritten) {
  const Claim claim =
      Read("pod_1 GPU-bb000000-0000-0000-0000-000000000000,0 threads=12.5 memory=0=2G,1=512M partitions=a/1,b/2");
  EXPECT_EQ(claim.devices.size(), 2u);
  EXPECT_EQ(claim.active_thread_percentage, 12.5);
  EXPECT_EQ(claim.partitions, (std::vector<std::string>{"a/1", "b/2"}));
  const auto words = control::SplitWords(claim.Words());
  EXPECT_EQ(Read("x 0"), Read("x 0"));
  EXPECT_EQ(ReadClaim({words.begin() + 2, words.end()}), claim) << claim.Words();
}

TEST(Claim, OfWordsThatMeanNothingIsRefused) {
  for (const char* line : {"", "x", "x ,", "../x 0", "x/y 0", "x gpu", "x 0 threads=0", "x 0 threads=101",
                           "x 0 threads", "x 0 memory=0", "x 0 memory=0=much", "x 0 priority=1"}) {
    EXPECT_FALSE(ReadClaim(control::SplitWords(line))) << line;
  }
}

TEST(Claim, WithholdsTheDevicesThatItDoesNotName) {
  wire::Attach attach = Asking(100);
  ASSERT_TRUE(ApplyClaim(Read("x GPU-bb000000-0000-0000-0000-000000000000"), TwoDevices(), attach));
  EXPECT_EQ(attach.withheld_devices & 3, 1u);
  // Also those that nobody knew of when the claim was made.
  EXPECT_EQ(attach.withheld_devices >> 2, ~0u >> 2);
}

TEST(Claim, NamesDevicesByNumberToo) {
  wire::Attach attach = Asking(100);
  ASSERT_TRUE(ApplyClaim(Read("x 0,GPU-bb000000-0000-0000-0000-000000000000"), TwoDevices(), attach));
  EXPECT_EQ(attach.withheld_devices & 3, 0u);
}

TEST(Claim, OnDevicesOfAnotherServerGivesNothing) {
  wire::Attach attach = Asking(100);
  const auto applied = ApplyClaim(Read("x GPU-cc000000-0000-0000-0000-000000000000"), TwoDevices(), attach);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, cuda::CUDA_ERROR_NO_DEVICE);
}

TEST(Claim, MakesLessOfWhatAProgramAsksForAndNeverMore) {
  const Claim claim = Read("x 0,1 threads=50 memory=0=1G");
  wire::Attach greedy = Asking(100);
  greedy.memory_limits = greedy.own_memory_limits = {{0, 4ull << 30}, {1, 3}};
  ASSERT_TRUE(ApplyClaim(claim, TwoDevices(), greedy));
  EXPECT_EQ(greedy.active_thread_percentage, 50);
  EXPECT_EQ(greedy.own_percentage, 50) << "a server whose limits change would give it more";
  EXPECT_EQ(greedy.memory_limits[0].bytes, 1ull << 30);
  EXPECT_EQ(greedy.own_memory_limits[0].bytes, 1ull << 30);
  EXPECT_EQ(greedy.memory_limits[1].bytes, 3u);
  wire::Attach silent = Asking(100);
  ASSERT_TRUE(ApplyClaim(claim, TwoDevices(), silent));
  ASSERT_EQ(silent.memory_limits.size(), 1u);
  EXPECT_EQ(silent.memory_limits[0].bytes, 1ull << 30);
  wire::Attach modest = Asking(10);
  modest.memory_limits = {{0, 5}};
  ASSERT_TRUE(ApplyClaim(claim, TwoDevices(), modest));
  EXPECT_EQ(modest.active_thread_percentage, 10);
  EXPECT_EQ(modest.memory_limits[0].bytes, 5u);
}

TEST(Claim, LetsNamePartitionsOfItsOwnOnly) {
  const Claim claim = Read("x 0 partitions=GPU-aa/1");
  wire::Attach own = Asking(100), others = Asking(100), none = Asking(100);
  own.hello.sm_partition = "GPU-aa/1";
  others.hello.sm_partition = "GPU-aa/2";
  EXPECT_TRUE(ApplyClaim(claim, TwoDevices(), own));
  EXPECT_TRUE(ApplyClaim(claim, TwoDevices(), none));
  const auto applied = ApplyClaim(claim, TwoDevices(), others);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, cuda::CUDA_ERROR_NOT_PERMITTED);
}

}  // namespace
}  // namespace tutti::daemon
