// The policies by themselves, in simulated time.
#include "device/cpu/schedule/policy.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSms = 8;

void Offer(SchedulingPolicy& policy, SpaceShare& share) {
  policy.Offer(&share);
  share.offered = true;
}
void Withdraw(SchedulingPolicy& policy, SpaceShare& share) {
  policy.Withdraw(&share);
  share.offered = false;
}

Running Ran(const SpaceShare& share, uint64_t ran_ns) {
  return {.share = &share, .level = share.level, .sm = 0, .ran_ns = ran_ns};
}

TEST(SharePolicy, DividesTimeByWeightWhateverTheBlocksTake) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare heavy, light;
  heavy.weight = 75;
  light.weight = 25;
  Offer(*policy, heavy);
  Offer(*policy, light);
  std::map<SpaceShare*, uint64_t> taken;
  for (int i = 0; i < 100'000; ++i) {
    SpaceShare* const share = policy->Pick(0, 0);
    const int64_t ns = share == &heavy ? 1'000 : 70'000;
    taken[share] += ns;
    policy->Charge(share, ns);
  }
  const double part = static_cast<double>(taken[&heavy]) / static_cast<double>(taken[&heavy] + taken[&light]);
  EXPECT_NEAR(part, 0.75, 0.01);
}

TEST(SharePolicy, WhoeverIsFurthestBehindIsPickedWhateverIsChargedOrGivenBack) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare shares[20];
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    SpaceShare& share = shares[random() % std::size(shares)];
    if (random() % 4 != 0) {
      policy->Charge(&share, static_cast<int64_t>(random() % 2'000'000) - 900'000);
    } else if (share.offered) {
      Withdraw(*policy, share);
    } else {
      Offer(*policy, share);
    }
    const SpaceShare* behind = nullptr;
    for (const SpaceShare& other : shares) {
      if (other.offered && (behind == nullptr || other.virtual_ns < behind->virtual_ns)) behind = &other;
    }
    const SpaceShare* const picked = policy->Pick(0, 0);
    ASSERT_EQ(picked == nullptr, behind == nullptr);
    if (picked != nullptr) {
      ASSERT_EQ(picked->virtual_ns, behind->virtual_ns) << "step " << i;
    }
  }
}

TEST(SharePolicy, IdleTimeIsNotSavedUp) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare busy, idle;
  Offer(*policy, busy);
  Offer(*policy, idle);
  Withdraw(*policy, idle);
  for (int i = 0; i < 1000; ++i) policy->Charge(policy->Pick(0, 0), kMs);
  Offer(*policy, idle);
  int idle_picks = 0;
  for (int i = 0; i < 100; ++i) {
    SpaceShare* const share = policy->Pick(0, 0);
    idle_picks += share == &idle ? 1 : 0;
    policy->Charge(share, kMs);
  }
  EXPECT_NEAR(idle_picks, 51, 2) << "3 ms at most";
}

TEST(SharePolicy, ALongRunGivesWayToWhoeverIsBehind) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare running, waiting;
  EXPECT_FALSE(policy->MustGiveWay(Ran(running, 100 * kMs), 0)) << "nobody waits";
  Offer(*policy, waiting);
  EXPECT_FALSE(policy->MustGiveWay(Ran(running, 1000), 0)) << "not yet";
  EXPECT_TRUE(policy->MustGiveWay(Ran(running, 10 * kMs), 0));
}

TEST(SharePolicy, ThoseWhoAlwaysHaveWorkChangePlacesByTheLead) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare running, waiting;
  Offer(*policy, waiting);
  const uint64_t now_ns = 100 * kMs;
  EXPECT_EQ(policy->GivesWayAtNs(Ran(running, kMs), now_ns), now_ns + kMs);
  EXPECT_EQ(policy->GivesWayAtNs(Ran(running, 2 * kMs), now_ns), now_ns);
  running.virtual_ns = 20 * kMs;
  EXPECT_EQ(policy->GivesWayAtNs(Ran(running, kMs / 10), now_ns), now_ns + kMs * 4 / 10)
      << "far ahead: a slice is its own";
}

// What 64 SMs have taken in a moment is as much of a lead as what 8 have taken in it; so is what they have not been
// charged for.
TEST(SharePolicy, OnManySmsALeadTakesAsLongToBuildUpAsOnFew) {
  const auto policy = NewSharePolicy(64);
  SpaceShare running, waiting;
  for (int i = 0; i < 64; ++i) running.cap.Begin();
  Offer(*policy, waiting);
  running.virtual_ns = 10 * kMs;
  EXPECT_EQ(policy->GivesWayAtNs(Ran(running, kMs / 2), kMs), kMs + kMs / 4) << "(16 - 10) / 8 - 0.5 ms";
  running.virtual_ns = 16 * kMs;
  EXPECT_TRUE(policy->MustGiveWay(Ran(running, kMs / 2), kMs));
}

TEST(SharePolicy, TimeChargedInAdvanceCountsOnce) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare running, waiting;
  Offer(*policy, waiting);
  running.virtual_ns = kMs;  // the estimate
  Running run = Ran(running, kMs);
  run.charged_ns = kMs;
  EXPECT_EQ(policy->GivesWayAtNs(run, 0), kMs);
}

TEST(SharePolicy, WhoComesBackIsLetInAfterASlice) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare hog, visitor;
  Offer(*policy, hog);
  for (int i = 0; i < 100; ++i) policy->Charge(policy->Pick(0, 0), kMs);
  Withdraw(*policy, hog);
  Offer(*policy, visitor);
  EXPECT_TRUE(policy->MustGiveWay(Ran(hog, kMs / 2), 0));
  EXPECT_FALSE(policy->MustGiveWay(Ran(hog, kMs / 10), 0));
}

TEST(SharePolicy, AMomentWithoutWorkCostsNothing) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare steady, halting;
  Offer(*policy, steady);
  Offer(*policy, halting);
  std::map<SpaceShare*, uint64_t> taken;
  for (int i = 0; i < 10'000; ++i) {
    SpaceShare* const share = policy->Pick(0, 0);
    const int64_t ns = share == &steady ? 500'000 : 10'000;
    taken[share] += ns;
    policy->Charge(share, ns);
    if (share != &halting) continue;
    Withdraw(*policy, halting);  // between two of its kernels
    policy->Charge(policy->Pick(0, 0), 500'000);
    taken[&steady] += 500'000;
    Offer(*policy, halting);
  }
  EXPECT_NEAR(static_cast<double>(taken[&halting]) / static_cast<double>(taken[&steady]), 0.02, 0.01)
      << "it never has enough work; but it is first whenever it has";
}

TEST(SharePolicy, ClientsBelowNormalHaveWhatIsLeft) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare low, normal;
  low.band = 1;
  Offer(*policy, low);
  EXPECT_EQ(policy->Pick(0, 0), &low) << "nobody else wants it";
  Offer(*policy, normal);
  EXPECT_TRUE(policy->MustGiveWay(Ran(low, 0), 0)) << "at once";
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(policy->Pick(0, 0), &normal);
    policy->Charge(&normal, kMs);
  }
  Withdraw(*policy, low);
  Withdraw(*policy, normal);
  Offer(*policy, low);
  EXPECT_FALSE(policy->MustGiveWay(Ran(normal, 100 * kMs), 0));
}

TEST(SharePolicy, StreamPrioritiesAreAClientsOwnBusiness) {
  const auto policy = NewSharePolicy(kSms);
  SpaceShare urgent, other;
  other.level = kUrgencies - 1;
  Offer(*policy, other);
  Offer(*policy, urgent);
  EXPECT_FALSE(policy->MustGiveWay(Ran(other, 0), 0));
}

TEST(PriorityPolicy, AMoreUrgentStreamGoesBeforeAllOthers) {
  const auto policy = NewPriorityPolicy(kSms);
  SpaceShare urgent, other;
  urgent.level = 2;
  other.level = 5;
  Offer(*policy, other);
  EXPECT_FALSE(policy->MustGiveWay(Ran(urgent, 100 * kMs), 0));
  Offer(*policy, urgent);
  EXPECT_EQ(policy->Pick(0, 0), &urgent);
  EXPECT_TRUE(policy->MustGiveWay(Ran(other, 0), 0)) << "at once";
}

TEST(PriorityPolicy, EqualsShare) {
  const auto policy = NewPriorityPolicy(kSms);
  SpaceShare a, b;
  a.level = b.level = 3;
  Offer(*policy, a);
  Offer(*policy, b);
  std::map<SpaceShare*, int> picks;
  for (int i = 0; i < 100; ++i) {
    SpaceShare* const share = policy->Pick(0, 0);
    ++picks[share];
    policy->Charge(share, kMs);
  }
  EXPECT_EQ(picks[&a], 50);
}

TEST(PartitionPolicy, EachHasItsOwnSmsAndNoOthers) {
  const auto policy = NewPartitionPolicy(kSms);
  SpaceShare left, right;
  left.sms.reset().set(0);
  right.sms.reset().set(1);
  Offer(*policy, right);
  EXPECT_EQ(policy->Pick(0, 0), nullptr) << "nothing is lent";
  EXPECT_FALSE(policy->HasNext(0, 0));
  EXPECT_FALSE(policy->MustGiveWay(Ran(left, 100 * kMs), 0));
  Offer(*policy, left);
  EXPECT_EQ(policy->Pick(0, 0), &left);
  EXPECT_EQ(policy->Pick(1, 0), &right);
}

TEST(PartitionPolicy, ClientsOfOnePartitionShareIt) {
  const auto policy = NewPartitionPolicy(kSms);
  SpaceShare a, b;
  a.sms.reset().set(1);
  b.sms.reset().set(1);
  Offer(*policy, a);
  Offer(*policy, b);
  SpaceShare* const first = policy->Pick(1, 0);
  policy->Charge(first, kMs);
  EXPECT_NE(policy->Pick(1, 0), first);
}

TEST(TimeSlicePolicy, OneSpaceHasTheDeviceForAQuantum) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare a, b;
  Offer(*policy, a);
  Offer(*policy, b);
  SpaceShare* const first = policy->Pick(0, 0);
  SpaceShare* const second = first == &a ? &b : &a;
  for (uint64_t now_ns = 0; now_ns < 2 * kMs; now_ns += kMs / 10) EXPECT_EQ(policy->Pick(0, now_ns), first);
  EXPECT_TRUE(policy->MustGiveWay(Ran(*first, kMs), 2 * kMs));
  EXPECT_EQ(policy->Pick(0, 2 * kMs), second);
  EXPECT_EQ(policy->Pick(0, 3 * kMs), second);
  EXPECT_EQ(policy->Pick(0, 4 * kMs), first);
}

TEST(TimeSlicePolicy, NothingIsLentWhileTheOwnersBlocksRun) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare owner, other;
  Offer(*policy, owner);
  ASSERT_EQ(policy->Pick(0, 0), &owner);
  owner.cap.Begin();
  Withdraw(*policy, owner);
  Offer(*policy, other);
  EXPECT_EQ(policy->Pick(0, kMs), nullptr) << "within the quantum";
  EXPECT_FALSE(policy->HasNext(0, kMs));
  EXPECT_EQ(policy->Pick(0, 3 * kMs), nullptr) << "not before its last block has given way";
  owner.cap.End();
  EXPECT_EQ(policy->Pick(0, 3 * kMs), &other);
}

TEST(TimeSlicePolicy, ASpaceThatRunsDryEndsItsQuantum) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare owner, other;
  Offer(*policy, owner);
  ASSERT_EQ(policy->Pick(0, 0), &owner);
  Withdraw(*policy, owner);
  Offer(*policy, other);
  EXPECT_EQ(policy->Pick(0, 1), &other);
}

TEST(TimeSlicePolicy, ASpaceWhoseSmsDoNotComeKeepsTheDeviceForItsQuantumAtMost) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare owner, other;
  owner.sms = SmSet(1);
  Offer(*policy, owner);
  ASSERT_EQ(policy->Pick(0, 0), &owner);
  ASSERT_EQ(policy->Pick(1, kMs), nullptr);
  EXPECT_EQ(policy->PicksAgainAtNs(kMs), kNever) << "nobody else wants anything";
  Offer(*policy, other);
  ASSERT_EQ(policy->Pick(1, kMs), nullptr);
  EXPECT_EQ(policy->PicksAgainAtNs(kMs), 2 * kMs);
  owner.cap.Begin();
  EXPECT_EQ(policy->PicksAgainAtNs(kMs), kNever) << "what runs is looked at";
  EXPECT_EQ(policy->PicksAgainAtNs(3 * kMs), kNever);
  owner.cap.End();
  EXPECT_EQ(policy->Pick(1, policy->PicksAgainAtNs(kMs)), &other);
}

TEST(TimeSlicePolicy, AloneASpaceGoesOnWithoutEnd) {
  const auto policy = NewTimeSlicePolicy();
  SpaceShare alone;
  Offer(*policy, alone);
  for (uint64_t now_ns = 0; now_ns < 20 * kMs; now_ns += kMs) {
    EXPECT_EQ(policy->Pick(0, now_ns), &alone);
    EXPECT_FALSE(policy->MustGiveWay(Ran(alone, 10 * kMs), now_ns));
  }
}

}  // namespace
}  // namespace tutti::device::cpu
