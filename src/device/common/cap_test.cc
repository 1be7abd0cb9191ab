// Caps by themselves, in simulated time.
#include "device/common/cap.h"

#include <gtest/gtest.h>

namespace tutti::device {
namespace {

constexpr uint64_t kMs = 1'000'000;

// The part of one SM's time it has used after `seconds`, running in pieces of `piece_ns` whenever it may.
double UsedPart(Cap& cap, uint64_t piece_ns, double seconds) {
  uint64_t now_ns = 1, used_ns = 0;
  const auto end_ns = static_cast<uint64_t>(seconds * 1e9);
  while (now_ns < end_ns) {
    if (cap.throttled()) {
      now_ns = cap.throttled_until_ns();
      cap.Resume(now_ns);
    }
    now_ns += piece_ns;
    used_ns += piece_ns;
    cap.Spend(piece_ns, now_ns);
  }
  return static_cast<double>(used_ns) / static_cast<double>(now_ns);
}

TEST(Cap, HoldsAFractionInTheLongRunWhateverThePieces) {
  for (const uint64_t piece_ns : {kMs / 100, kMs / 2, 50 * kMs}) {
    Cap cap;
    cap.Set(0.24, 2, 0);
    EXPECT_EQ(cap.max_sms(), 1u);
    EXPECT_NEAR(UsedPart(cap, piece_ns, 20), 0.24, 0.002) << piece_ns;
  }
}

TEST(Cap, KeepsItsAccountsWhenItChanges) {
  Cap cap;
  cap.Set(0.5, 2, 0);
  double used_ns = 0;
  uint64_t now_ns = 0;
  for (int i = 0; i < 10'000; ++i) {
    cap.Change(i % 2 == 0 ? 0.2 : 0.4, 2, now_ns);
    if (cap.throttled() && now_ns >= cap.throttled_until_ns()) cap.Resume(now_ns);
    now_ns += kMs;
    if (cap.throttled()) continue;
    used_ns += kMs;
    cap.Spend(kMs, now_ns);
  }
  EXPECT_NEAR(used_ns / static_cast<double>(now_ns), 0.3, 0.01);
  cap.Change(2, 2, now_ns);
  EXPECT_TRUE(cap.open());
  EXPECT_FALSE(cap.Spend(1000 * kMs, now_ns));
}

TEST(Cap, OpensSoonerWhenItGetsMore) {
  Cap cap;
  cap.Set(0, 2, 0);
  ASSERT_TRUE(cap.Spend(kMs, kMs));
  EXPECT_GT(cap.throttled_until_ns(), 500 * kMs);
  cap.Change(0.5, 2, 2 * kMs);
  EXPECT_TRUE(cap.throttled());
  EXPECT_LE(cap.throttled_until_ns(), 5 * kMs);
}

TEST(Cap, WholeSmsNeedNoClock) {
  Cap cap;
  cap.Set(1, 2, 0);
  EXPECT_EQ(cap.max_sms(), 1u);
  EXPECT_FALSE(cap.limits_time());
  cap.Set(2, 2, 0);
  EXPECT_EQ(cap.max_sms(), 2u);
  EXPECT_FALSE(cap.limits_time());
}

TEST(Cap, AFractionAboveOneMayUseTheNextSmForAPart) {
  Cap cap;
  cap.Set(1.4, 2, 0);
  EXPECT_EQ(cap.max_sms(), 2u);
  EXPECT_TRUE(cap.limits_time());
}

TEST(Cap, OnManySmsAFractionIsRoundedDown) {
  Cap cap;
  cap.Set(0.12 * 132, 132, 0);
  EXPECT_EQ(cap.max_sms(), 15u);
  EXPECT_FALSE(cap.limits_time());
}

TEST(Cap, IdleTimeIsNotSavedUp) {
  Cap cap;
  cap.Set(0.5, 2, 0);
  cap.WorkCame(10'000 * kMs);
  EXPECT_EQ(cap.LeftNs(3 * kMs, 10'000 * kMs), 0u) << "a moment's worth at most";
}

TEST(Cap, WaitingForOthersCostsNothing) {
  Cap cap;
  cap.Set(0.5, 2, 0);
  EXPECT_TRUE(cap.Spend(5 * kMs, 5 * kMs));
  cap.Resume(cap.throttled_until_ns());
  // Others had the SM for 30 ms, then it runs for 10: it was due 15.
  EXPECT_FALSE(cap.Spend(10 * kMs, cap.throttled_until_ns() + 40 * kMs));
}

// Between the grids of one stream, each of which begins when the one before has ended.
TEST(Cap, AMomentWithoutWorkTakesNothingOfWhatWasSavedUp) {
  constexpr uint64_t kGapNs = kMs / 1000;
  Cap cap;
  cap.Set(0.5, 2, 0);
  EXPECT_FALSE(cap.Spend(kMs, 21 * kMs)) << "others had the SM for 20 ms";
  uint64_t now_ns = 21 * kMs;
  for (int grid = 0; grid < 18; ++grid) {
    cap.WorkCame(now_ns += kGapNs);
    ASSERT_FALSE(cap.Spend(kMs, now_ns += kMs)) << grid;
  }
  cap.WorkCame(now_ns + 1000 * kMs);
  EXPECT_EQ(cap.LeftNs(2 * kMs, now_ns + 1000 * kMs), 0u) << "it has idled for long";
}

TEST(Cap, ItIsOpenForAsManySmsAsItHas) {
  Cap cap;
  cap.Set(2, 4, 0);
  cap.Begin();
  EXPECT_TRUE(cap.open());
  cap.Begin();
  EXPECT_FALSE(cap.open());
  cap.Set(4, 4, 0);
  EXPECT_TRUE(cap.open()) << "live";
}

}  // namespace
}  // namespace tutti::device
