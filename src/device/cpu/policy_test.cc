// The policies by themselves, in made-up time.
#include "device/cpu/policy.h"

#include <gtest/gtest.h>

#include <map>

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMs = 1'000'000;

void Offer(SchedulingPolicy& policy, SpaceShare& share) {
  policy.Offer(&share);
  share.offered = true;
}
void Withdraw(SchedulingPolicy& policy, SpaceShare& share) {
  policy.Withdraw(&share);
  share.offered = false;
}

TEST(SharePolicy, DividesTimeByWeightWhateverTheBlocksTake) {
  const auto policy = NewSharePolicy();
  SpaceShare heavy{.weight = 75}, light{.weight = 25};
  Offer(*policy, heavy);
  Offer(*policy, light);
  std::map<SpaceShare*, uint64_t> taken;
  for (int i = 0; i < 100'000; ++i) {
    SpaceShare* const share = policy->Pick(0);
    const int64_t ns = share == &heavy ? 1'000 : 70'000;
    taken[share] += ns;
    policy->Charge(share, ns);
  }
  const double part = static_cast<double>(taken[&heavy]) / static_cast<double>(taken[&heavy] + taken[&light]);
  EXPECT_NEAR(part, 0.75, 0.01);
}

TEST(SharePolicy, IdleTimeIsNotSavedUp) {
  const auto policy = NewSharePolicy();
  SpaceShare busy, idle;
  Offer(*policy, busy);
  Offer(*policy, idle);
  Withdraw(*policy, idle);
  for (int i = 0; i < 1000; ++i) policy->Charge(policy->Pick(0), 1000);
  Offer(*policy, idle);
  int idle_picks = 0;
  for (int i = 0; i < 100; ++i) {
    SpaceShare* const share = policy->Pick(0);
    idle_picks += share == &idle ? 1 : 0;
    policy->Charge(share, 1000);
  }
  EXPECT_NEAR(idle_picks, 50, 2);
}

TEST(SharePolicy, ALongRunGivesWayToWhoeverIsBehind) {
  const auto policy = NewSharePolicy();
  SpaceShare running, waiting;
  EXPECT_FALSE(policy->MustGiveWay(running, 100 * kMs, 0)) << "nobody waits";
  Offer(*policy, waiting);
  EXPECT_FALSE(policy->MustGiveWay(running, 1000, 0)) << "not yet";
  EXPECT_TRUE(policy->MustGiveWay(running, 10 * kMs, 0));
}

TEST(TimeSlicePolicy, OneSpaceHasTheDeviceForAQuantum) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare a, b;
  Offer(*policy, a);
  Offer(*policy, b);
  SpaceShare* const first = policy->Pick(0);
  SpaceShare* const second = first == &a ? &b : &a;
  for (uint64_t now_ns = 0; now_ns < 2 * kMs; now_ns += kMs / 10) EXPECT_EQ(policy->Pick(now_ns), first);
  EXPECT_TRUE(policy->MustGiveWay(*first, kMs, 2 * kMs));
  EXPECT_EQ(policy->Pick(2 * kMs), second);
  EXPECT_EQ(policy->Pick(3 * kMs), second);
  EXPECT_EQ(policy->Pick(4 * kMs), first);
}

TEST(TimeSlicePolicy, NothingIsLentWhileTheOwnersBlocksRun) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare owner, other;
  Offer(*policy, owner);
  ASSERT_EQ(policy->Pick(0), &owner);
  owner.running = 1;
  Withdraw(*policy, owner);
  Offer(*policy, other);
  EXPECT_EQ(policy->Pick(kMs), nullptr) << "within the quantum";
  EXPECT_FALSE(policy->HasNext(kMs));
  EXPECT_EQ(policy->Pick(3 * kMs), nullptr) << "not before its last block has given way";
  owner.running = 0;
  EXPECT_EQ(policy->Pick(3 * kMs), &other);
}

TEST(TimeSlicePolicy, ASpaceThatRunsDryEndsItsQuantum) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare owner, other;
  Offer(*policy, owner);
  ASSERT_EQ(policy->Pick(0), &owner);
  Withdraw(*policy, owner);
  Offer(*policy, other);
  EXPECT_EQ(policy->Pick(1), &other);
}

TEST(TimeSlicePolicy, AloneASpaceGoesOnWithoutEnd) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare alone;
  Offer(*policy, alone);
  for (uint64_t now_ns = 0; now_ns < 20 * kMs; now_ns += kMs) {
    EXPECT_EQ(policy->Pick(now_ns), &alone);
    EXPECT_FALSE(policy->MustGiveWay(alone, 10 * kMs, now_ns));
  }
}

}  // namespace
}  // namespace tutti::device::cpu
