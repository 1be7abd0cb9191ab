#include "client/copy/value_condition.h"

#include <gtest/gtest.h>

#include "cuda/types.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

bool Holds(uint32_t comparison, uint64_t value, uint64_t current, uint32_t bytes = 4) {
  return ValueCondition{.value = value, .bytes = bytes, .comparison = comparison}.HoldsFor(current);
}

TEST(ValueCondition, GreaterOrEqualIsCyclic) {
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 5, 5));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 5, 6));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 5, 4));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 0xffff'fff0, 3));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 3, 0xffff'fff0));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 0, 0x7fff'ffff));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 0, 0x8000'0000));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 0, 0x8000'0000, 8));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_GEQ, 0, 0x8000'0000'0000'0000, 8));
}

TEST(ValueCondition, TheOthersReadBits) {
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_EQ, 7, 7));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_EQ, 7, 8));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_AND, 6, 2));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_AND, 6, 9));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_NOR, 0xffff'fff0, 7));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_NOR, 0xffff'fff0, 0xf));
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_NOR, 0xffff'fff0, 0xf, 8));
}

TEST(ValueCondition, A32BitWaitIgnoresWhatLiesBeside) {
  EXPECT_TRUE(Holds(CU_STREAM_WAIT_VALUE_EQ, 0x1'0000'0007, 0x2'0000'0007));
  EXPECT_FALSE(Holds(CU_STREAM_WAIT_VALUE_EQ, 0x1'0000'0007, 0x2'0000'0007, 8));
}

TEST(PollPace, SlowsDownAsTimePassesAndStartsAgain) {
  PollPace pace;
  pace.Restart(1000);
  EXPECT_EQ(pace.SleepNs(1000), PollPace::kShortestNs);
  EXPECT_EQ(pace.SleepNs(1000 + 8'000'000), 1'000'000u);
  EXPECT_EQ(pace.SleepNs(1000 + 3'600'000'000'000), PollPace::kLongestNs);
  pace.Restart(1000 + 3'600'000'000'000);
  EXPECT_EQ(pace.SleepNs(1000 + 3'600'000'000'000), PollPace::kShortestNs);
}

}  // namespace
}  // namespace tutti::client
