// Which part of a device a client gets, in simulated time.
#include <gtest/gtest.h>

#include "device/cpu/testing/made_up_device.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kBlockNs = 50'000;
constexpr double kNear = 0.01;

TEST(Shares, APercentageIsThatPartOfTheDevicesTime) {
  MadeUpDevice device(2);
  auto& little = device.NewClient({.percentage = 12});
  auto& much = device.NewClient({.percentage = 70});
  device.GiveWork(little, kBlockNs);
  device.GiveWork(much, kBlockNs);
  EXPECT_NEAR(device.PartOf(little, 1000 * kMs), 0.12, kNear);
  EXPECT_NEAR(device.PartOf(much, 1000 * kMs), 0.70, kNear);
}

TEST(Shares, APercentageChangesLive) {
  MadeUpDevice device(2);
  auto& client = device.NewClient({.percentage = 10});
  device.GiveWork(client, kBlockNs);
  for (const double percentage : {10, 80, 5, 100}) {
    device.scheduler().SetLimits(&client.share, {.percentage = percentage});
    EXPECT_NEAR(device.PartOf(client, 400 * kMs), percentage / 100, kNear);
  }
}

TEST(Shares, APercentageHoldsForBlocksThatTakeLongerThanItsBudget) {
  MadeUpDevice device(2);
  auto& client = device.NewClient({.percentage = 10});
  device.GiveWork(client, 30 * kMs);
  EXPECT_NEAR(device.PartOf(client, 20'000 * kMs), 0.10, kNear);
}

TEST(Shares, AContextsCapHoldsForItsStreamsTogetherAndNoOthers) {
  MadeUpDevice device(2);
  auto& client = device.NewClient();
  ASSERT_TRUE(device.scheduler().LimitContext(&client.share, 7, 0.1));
  for (int stream = 0; stream < 3; ++stream) device.GiveWork(client, kBlockNs, 7);
  EXPECT_NEAR(device.PartOf(client, 400 * kMs), 0.1, kNear);
  device.GiveWork(client, kBlockNs, 8);
  EXPECT_NEAR(device.PartOf(client, 400 * kMs), 1.0, kNear) << "another context has none";
  ASSERT_TRUE(device.scheduler().LimitContext(&client.share, 7, 1));
  EXPECT_NEAR(device.PartOf(client, 400 * kMs), 1.0, kNear);
}

TEST(Shares, EqualClientsHaveEqualParts) {
  MadeUpDevice device(2);
  auto& one = device.NewClient();
  auto& other = device.NewClient();
  device.GiveWork(one, kBlockNs);
  device.GiveWork(other, 700'000);
  const uint64_t before_ns = other.used_ns;
  EXPECT_NEAR(device.PartOf(one, 1000 * kMs), 0.5, 2 * kNear);
  EXPECT_NEAR(static_cast<double>(other.used_ns - before_ns) / (2000.0 * kMs), 0.5, 2 * kNear);
}

}  // namespace
}  // namespace tutti::device::cpu
