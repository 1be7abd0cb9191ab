// Limits of a context that several places have in common.
#include "executor/context_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "executor/testing/submitter_fixture.h"

namespace tutti::executor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace cuda;

class ContextLimitsTest : public testing::Test {
 protected:
  ContextLimitsTest() {
    driver = &driver_;
    limits_.Open();
  }
  ~ContextLimitsTest() override { driver = nullptr; }

  // 0: it is refused.
  uint64_t Set(const int& place, uint64_t bytes, bool may_lower = true) {
    return SetOf(CU_LIMIT_STACK_SIZE, place, bytes, may_lower);
  }
  uint64_t SetOf(CUlimit limit, const int& place, uint64_t value, bool may_lower = true) {
    return limits_.Set(&place, limit, value, true, [&] { return may_lower; }).value_or(0);
  }
  void LowerWhereNothingRuns() {
    EXPECT_TRUE(limits_.Lower([] { return true; }));
  }

  static constexpr CUlimit kPending = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;  // is no memory

  FakeDriver driver_;
  const Vendor vendor_ = MakeVendor();
  ContextLimits limits_{vendor_};
  const int one_ = 1, two_ = 2, three_ = 3;
};

TEST_F(ContextLimitsTest, AreTheLargestThatAPlaceHasAskedFor) {
  EXPECT_EQ(Set(one_, 2000), 2000u);
  EXPECT_EQ(Set(two_, 4000), 4000u);
  EXPECT_EQ(Set(one_, 1000), 1000u) << "the other one needs more, so nothing of it is kept for this one";
  EXPECT_EQ(Set(one_, kMostOfLimit + 1), 0u);
  EXPECT_THAT(driver_.calls, ElementsAre("limit 0 is 2000", "limit 0 is 4000", "limit 0 is 10001"));
  limits_.Forget(&two_);
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 0 is 1000") << "what was refused is forgotten, and so is who has gone";
}

TEST_F(ContextLimitsTest, AreNeverLessThanAFreshContextHas) {
  EXPECT_EQ(Set(one_, 100), 100u);
  EXPECT_EQ(Set(one_, kFreshLimit), kFreshLimit);
  EXPECT_THAT(driver_.calls, IsEmpty()) << "neighbours may need it, and it is there";
}

TEST_F(ContextLimitsTest, WhatIsNoMemoryMayBeLessAndIsAsInAFreshContextWhenThatIsOver) {
  EXPECT_EQ(SetOf(kPending, one_, 100), 100u);
  EXPECT_EQ(driver_.calls.back(), "limit 4 is 100");
  EXPECT_EQ(SetOf(kPending, two_, 200), 200u);
  EXPECT_EQ(driver_.calls.back(), "limit 4 is 200");
  limits_.Forget(&two_);
  limits_.Forget(&one_);
  EXPECT_TRUE(limits_.HasExcess());
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 4 is " + std::to_string(kFreshLimit));
  EXPECT_FALSE(limits_.HasExcess());
}

TEST_F(ContextLimitsTest, AreNotLessThanAFreshContextHasForWhoHasAskedForNothing) {
  limits_.Add(&one_);
  limits_.Add(&two_);
  EXPECT_EQ(SetOf(kPending, one_, 1), 1u);
  LowerWhereNothingRuns();
  EXPECT_THAT(driver_.calls, IsEmpty());
  EXPECT_EQ(SetOf(kPending, two_, 200), 200u);
  EXPECT_EQ(driver_.calls.back(), "limit 4 is 200") << "nobody needs more";
  limits_.Forget(&two_);
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 4 is 1");
  driver_.limits = CUDA_ERROR_INVALID_VALUE;
  limits_.Add(&three_);
  LowerWhereNothingRuns();
  EXPECT_FALSE(limits_.HasExcess()) << "the driver has refused it";
  driver_.limits = CUDA_SUCCESS;
  limits_.Add(&two_);
  EXPECT_TRUE(limits_.HasExcess());
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 4 is " + std::to_string(kFreshLimit));
}

TEST_F(ContextLimitsTest, ThatADriverDoesNotRaiseAreAskedForByNobody) {
  limits_.Add(&one_);
  EXPECT_FALSE(limits_.Set(&one_, kPending, kMostOfLimit + 1, true, [] { return true; }));
  EXPECT_FALSE(limits_.HasExcess());
  LowerWhereNothingRuns();
  EXPECT_THAT(driver_.calls, ElementsAre("limit 4 is 10001"));
}

TEST_F(ContextLimitsTest, OfWhichAFreshContextHasNoneAreNoneWhenTheLastHasGone) {
  EXPECT_EQ(SetOf(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, one_, 4000), 4000u);
  limits_.Forget(&one_);
  EXPECT_TRUE(limits_.HasExcess());
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 6 is 0");
  EXPECT_FALSE(limits_.HasExcess());
}

// Others' refused wishes change nothing in what the driver has.
TEST_F(ContextLimitsTest, AreHeldWhereAnotherOnesWishIsRefused) {
  Set(one_, 4000);
  EXPECT_EQ(Set(one_, 1000, false), 4000u);
  driver_.at_limit = [&] { EXPECT_EQ(Set(one_, 1000, false), 4000u) << "it may be refused"; };
  EXPECT_EQ(Set(two_, kMostOfLimit + 1), 0u);
  driver_.at_limit = [] {};
  EXPECT_EQ(Set(one_, 1000, false), 4000u);
  EXPECT_EQ(Set(two_, 5000), 5000u);
  EXPECT_EQ(Set(one_, 1000, false), 1000u) << "it is the other one's";
}

TEST_F(ContextLimitsTest, ThatWouldHaveToBeRaisedStayWhereNobodyMayWait) {
  const auto again = [&](uint64_t bytes) {
    return limits_.Set(&one_, CU_LIMIT_STACK_SIZE, bytes, false, [] { return true; });
  };
  EXPECT_EQ(again(4000), 0u) << "it holds nothing";
  EXPECT_THAT(driver_.calls, IsEmpty());
  EXPECT_FALSE(limits_.HasExcess());
  Set(one_, 2000);
  EXPECT_EQ(again(4000), 2000u);
  EXPECT_EQ(again(1000), 1000u);
  EXPECT_THAT(driver_.calls, ElementsAre("limit 0 is 2000", "limit 0 is 1000"));
}

TEST_F(ContextLimitsTest, AreAsInAFreshContextWhenTheLastHasGoneWhoAskedForMore) {
  Set(one_, 4000);
  limits_.Forget(&one_);
  EXPECT_TRUE(limits_.HasExcess());
  LowerWhereNothingRuns();
  EXPECT_EQ(driver_.calls.back(), "limit 0 is 500");
  EXPECT_FALSE(limits_.HasExcess());
}

TEST_F(ContextLimitsTest, AreHeldByWhoAskedForThemUntilTheyAreLowered) {
  Set(one_, 4000);
  driver_.calls.clear();
  EXPECT_EQ(Set(one_, 1000, false), 4000u);
  EXPECT_EQ(Set(two_, 3000, false), 3000u) << "it is there for one";
  EXPECT_THAT(driver_.calls, IsEmpty());
  LowerWhereNothingRuns();
  EXPECT_THAT(driver_.calls, ElementsAre("limit 0 is 3000"));
  EXPECT_EQ(Set(one_, 1000, false), 1000u);
}

TEST_F(ContextLimitsTest, StayWhileSomethingRuns) {
  Set(one_, 4000);
  limits_.Forget(&one_);
  driver_.calls.clear();
  EXPECT_TRUE(limits_.Lower([] { return false; }));
  EXPECT_THAT(driver_.calls, IsEmpty());
  EXPECT_TRUE(limits_.HasExcess());
}

TEST_F(ContextLimitsTest, ThatADriverDoesNotLowerAreEnough) {
  Set(one_, 4000);
  driver_.limits = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(Set(one_, 4000), 4000u) << "it is there already";
  EXPECT_EQ(Set(one_, 1000), 4000u);
  EXPECT_FALSE(limits_.HasExcess()) << "it is not asked again and again";
  driver_.limits = CUDA_SUCCESS;
  EXPECT_EQ(Set(one_, 900), 900u);
}

TEST_F(ContextLimitsTest, OfAPlaceThatEndsWaitForNobodyWhoRaisesOne) {
  Set(three_, 3000);
  std::future<void> ends;
  std::future_status status = std::future_status::deferred;
  driver_.at_limit = [&] {
    ends = std::async(std::launch::async, [&] { limits_.Forget(&three_); });
    status = ends.wait_for(std::chrono::seconds(10));
  };
  EXPECT_EQ(Set(one_, 4000), 4000u);
  EXPECT_EQ(status, std::future_status::ready);
}

TEST_F(ContextLimitsTest, ThatADriverDoesNotLowerAreHeldAsBefore) {
  Set(one_, 4000);
  Set(one_, 3000, false);
  driver_.at_limit = [&] {
    Set(one_, 3000, false);
    driver_.limits = CUDA_ERROR_INVALID_VALUE;
  };
  LowerWhereNothingRuns();
  EXPECT_EQ(Set(one_, 3000, false), 4000u);
}

// As long as the driver takes to lower it, which it may refuse.
TEST_F(ContextLimitsTest, ThatAreLoweredAreStillThereForNobody) {
  Set(one_, 4000);
  limits_.Forget(&one_);
  std::future<uint64_t> raised;
  std::future_status status = std::future_status::ready;
  driver_.at_limit = [&] {
    if (raised.valid()) return;
    raised = std::async(std::launch::async, [&] { return Set(two_, 3000); });
    status = raised.wait_for(std::chrono::milliseconds(50));
  };
  LowerWhereNothingRuns();
  EXPECT_EQ(raised.get(), 3000u);
  EXPECT_EQ(status, std::future_status::timeout);
  EXPECT_EQ(driver_.calls.back(), "limit 0 is 3000");
}

}  // namespace
}  // namespace tutti::executor
