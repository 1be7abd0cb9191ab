#include "ipc/spin.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace tutti::ipc {
namespace {

constexpr auto kNever = [] { return false; };

// Done at the `n`th question.
auto DoneAt(int n) {
  return [n]() mutable { return n-- <= 0; };
}

void SpinInVain(SpinBudget& budget) {
  while (budget.budget_ns() > SpinBudget::kMinNs) ASSERT_FALSE(budget.Spin(kNever));
}

TEST(SpinBudget, HalvesInVainAndDoublesWhenItPays) {
  SpinBudget budget;
  EXPECT_EQ(budget.budget_ns(), SpinBudget::kMaxNs);
  EXPECT_FALSE(budget.Spin(kNever));
  EXPECT_EQ(budget.budget_ns(), SpinBudget::kMaxNs / 2);
  SpinInVain(budget);
  EXPECT_EQ(budget.budget_ns(), SpinBudget::kMinNs);
  EXPECT_TRUE(budget.Spin(DoneAt(3)));
  EXPECT_EQ(budget.budget_ns(), 2 * SpinBudget::kMinNs);
}

TEST(SpinBudget, AfterABriefSleepTheNextWaitSpinsForTwiceAsLong) {
  SpinBudget budget;
  SpinInVain(budget);
  budget.Slept(10'000);
  EXPECT_EQ(budget.budget_ns(), 20'000u);
  EXPECT_TRUE(budget.Spin(DoneAt(3)));
  EXPECT_EQ(budget.budget_ns(), 40'000u) << "it has paid";
  budget.Slept(5'000);
  EXPECT_EQ(budget.budget_ns(), 40'000u);
}

TEST(SpinBudget, WaitsThatTakeLongSleepAtOnce) {
  SpinBudget budget;
  SpinInVain(budget);
  budget.Slept(SpinBudget::kMaxNs);
  EXPECT_EQ(budget.budget_ns(), SpinBudget::kMinNs);
}

TEST(SpinBudget, TriesInVainBecomeRare) {
  SpinBudget budget;
  SpinInVain(budget);
  int tries = 0;
  for (int wait = 0; wait < 2000; ++wait) {
    budget.Slept(10'000);
    tries += budget.budget_ns() > SpinBudget::kMinNs ? 1 : 0;
    ASSERT_FALSE(budget.Spin(kNever));
    ASSERT_EQ(budget.budget_ns(), SpinBudget::kMinNs);
  }
  EXPECT_GT(tries, 5);
  EXPECT_LT(tries, 12);
  while (budget.budget_ns() == SpinBudget::kMinNs) budget.Slept(10'000);
  EXPECT_TRUE(budget.Spin(DoneAt(3)));
  SpinInVain(budget);
  int waits = 0;
  for (; budget.budget_ns() == SpinBudget::kMinNs; ++waits) budget.Slept(10'000);
  EXPECT_LE(waits, 1) << "one that has paid makes up for them";
}

}  // namespace
}  // namespace tutti::ipc
