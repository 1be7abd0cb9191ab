// The order of a task's blocks by itself. The test acts as the scheduler: it returns what it takes.
#include "device/cpu/schedule/block_order.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "guest/exec/block_run.h"

namespace tutti::device::cpu {
namespace {

using Kind = guest::StandingRuns::Kind;

class BlockOrderTest : public testing::Test {
 protected:
  guest::BlockRun* Run(uint64_t index) {
    guest::BlockRun& run = runs_.emplace_back();
    EXPECT_TRUE(run.PrepareCall([](const void*, uint64_t) {}, nullptr, index));
    return &run;
  }
  // The index of the block that is next, which is taken.
  uint64_t Next(uint64_t begun = 0) {
    if (const guest::BlockRun* const run = order_.Next(begun)) return run->index();
    return TakeFresh(1);
  }
  uint64_t TakeFresh(uint64_t count, uint32_t place = 0) {
    EXPECT_GE(order_.Fresh(place), count);
    return order_.TakeFresh(count);
  }

  std::deque<guest::BlockRun> runs_;
  BlockOrder order_;
};

TEST_F(BlockOrderTest, BlocksBeginInOrderWhateverWasGivenBack) {
  order_.Reset(30, 64);
  TakeFresh(10);
  TakeFresh(10);
  order_.GiveBack(4, 6);
  order_.GiveBack(12, 13);
  order_.GiveBack(8, 10);
  std::vector<uint64_t> begun;
  while (order_.HasWork()) begun.push_back(Next());
  EXPECT_EQ(begun, (std::vector<uint64_t>{4, 5, 8, 9, 12, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
}

TEST_F(BlockOrderTest, ABlockThatHasBegunGoesOnBeforeALaterOneBegins) {
  order_.Reset(20, 64);
  TakeFresh(10);
  order_.Stand(Run(7), Kind::kReady);
  order_.Stand(Run(3), Kind::kReady);
  order_.GiveBack(4, 5);
  EXPECT_EQ(Next(), 3u);
  EXPECT_EQ(Next(), 4u);
  EXPECT_EQ(Next(), 7u);
  EXPECT_EQ(Next(), 10u);
}

TEST_F(BlockOrderTest, TheEarliestThatWaitsIsLookedAtWheneverABlockHasEnded) {
  order_.Reset(100, 4);
  TakeFresh(10);
  for (const uint64_t index : {5, 3, 9}) order_.Stand(Run(index), Kind::kWaiting, order_.ended());
  EXPECT_TRUE(order_.OnlyWaits());
  EXPECT_EQ(Next(/*begun=*/4), 5u) << "nothing has happened: whoever has stood longest";
  order_.End(1);
  EXPECT_FALSE(order_.OnlyWaits());
  EXPECT_EQ(Next(4), 3u);
}

TEST_F(BlockOrderTest, WhatEndedAfterALookIsNews) {
  order_.Reset(100, 4);
  TakeFresh(10);
  const uint64_t seen = order_.ended();
  order_.End(1);
  order_.Stand(Run(3), Kind::kWaiting, seen);
  EXPECT_FALSE(order_.OnlyWaits());
  EXPECT_TRUE(order_.HasEarlier(4));
  EXPECT_FALSE(order_.HasEarlier(3));
}

// All blocks that have begun wait for one that was returned, which must not wait for them.
TEST_F(BlockOrderTest, AnEarlierBlockBeginsHoweverManyLaterOnesStand) {
  order_.Reset(100, 4);
  TakeFresh(50);
  for (uint64_t index = 10; index < 30; ++index) order_.Stand(Run(index), Kind::kWaiting, order_.ended());
  order_.GiveBack(2, 3);
  EXPECT_EQ(Next(/*begun=*/20), 2u);
}

TEST_F(BlockOrderTest, EveryoneThatStandsHasATurnHoweverOftenTheEarliestGoesOn) {
  order_.Reset(1000, 64);
  TakeFresh(10);
  order_.Stand(Run(8), Kind::kWaiting, order_.ended());
  guest::BlockRun* const first = Run(1);
  for (uint32_t chunks = 0;; ++chunks) {
    ASSERT_LT(chunks, 2 * BlockOrder::kTurn);
    order_.Stand(first, Kind::kReady);
    if (Next() == 8) break;
  }
}

TEST_F(BlockOrderTest, BlocksBeginWhileAllThatHaveBegunWait) {
  order_.Reset(100, 4);
  TakeFresh(1);
  order_.Stand(Run(0), Kind::kWaiting, order_.ended());
  EXPECT_EQ(Next(/*begun=*/3), 1u) << "which may be what block 0 waits for";
  EXPECT_EQ(Next(/*begun=*/4), 0u) << "as many as the device can hold";
}

TEST_F(BlockOrderTest, WithPlacesWhatHasBegunGoesOnBeforeOthersBegin) {
  order_.Reset(100, 64, 2);
  EXPECT_EQ(TakeFresh(10, 0), 0u);
  EXPECT_EQ(TakeFresh(10, 1), 50u);
  EXPECT_EQ(order_.begun(), 20u);
  order_.Stand(Run(55), Kind::kReady);
  order_.GiveBack(56, 60);
  EXPECT_EQ(order_.begun(), 16u);
  EXPECT_EQ(order_.Next(16)->index(), 55u);
  EXPECT_EQ(order_.Fresh(0), 4u);
  EXPECT_EQ(TakeFresh(4, 0), 56u) << "what has been given back is first";
  EXPECT_EQ(TakeFresh(1, 0), 10u);
  EXPECT_EQ(TakeFresh(1, 1), 60u);
}

TEST_F(BlockOrderTest, PlacesAreNoneOnceABlockWaits) {
  order_.Reset(20, 64, 2);
  TakeFresh(2);
  EXPECT_EQ(TakeFresh(1, 1), 10u);
  EXPECT_TRUE(order_.HasEarlier(10));
  EXPECT_TRUE(order_.HasOthers());
  order_.Stand(Run(10), Kind::kWaiting, order_.ended());
  std::vector<uint64_t> begun;
  while (order_.HasWork()) begun.push_back(Next(/*begun=*/3));
  EXPECT_EQ(begun, (std::vector<uint64_t>{2, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19}))
      << "but for its turn";
}

TEST_F(BlockOrderTest, AGridOfTooManyBlocksHasNoPlaces) {
  order_.Reset(uint64_t{1} << 32, 64, 2);
  EXPECT_EQ(TakeFresh(10, 1), 0u);
  EXPECT_EQ(TakeFresh(10, 0), 10u);
}

TEST_F(BlockOrderTest, NothingOfATasksPlacesIsLeftForTheNext) {
  order_.Reset(20, 64, 2);
  TakeFresh(3);
  order_.Reset(2, 64);
  EXPECT_EQ(order_.begun(), 0u);
  EXPECT_EQ(order_.Fresh(1), 2u);
  EXPECT_EQ(TakeFresh(2, 1), 0u);
  EXPECT_FALSE(order_.HasWork());
}

}  // namespace
}  // namespace tutti::device::cpu
