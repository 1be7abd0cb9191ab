#include "guest/exec/warp_barrier.h"

#include <gtest/gtest.h>

namespace tutti::guest {
namespace {

WarpBarriers::Arrival Full(uint32_t warp, uint32_t id = 0) {
  return {.id = id, .warp = warp, .mask = ~0u, .live = ~0u, .threads = 0, .wait = true};
}

TEST(WarpBarriers, FullBlockCompletesWithTheLastWarp) {
  WarpBarriers barriers;
  barriers.Reset(3, 96);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0), &released));
  EXPECT_FALSE(barriers.Arrive(Full(2), &released));
  EXPECT_TRUE(barriers.Arrive(Full(1), &released));
  EXPECT_EQ(released, 0b101u);
}

TEST(WarpBarriers, PhasesFollowEachOther) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  for (int phase = 0; phase < 3; ++phase) {
    EXPECT_FALSE(barriers.Arrive(Full(0), &released));
    EXPECT_TRUE(barriers.Arrive(Full(1), &released));
    EXPECT_EQ(released, 0b01u);
  }
}

TEST(WarpBarriers, AFinishedWarpCountsAsArrived) {
  WarpBarriers barriers;
  barriers.Reset(3, 96);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0), &released));
  EXPECT_EQ(barriers.WarpFinished(1), 0u);
  EXPECT_EQ(barriers.WarpFinished(2), 0b001u);
}

TEST(WarpBarriers, ExitedLanesNeedNotArrive) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0), &released));
  EXPECT_TRUE(barriers.Arrive({.id = 0, .warp = 1, .mask = 0xff, .live = 0xff, .threads = 0, .wait = true}, &released));
}

TEST(WarpBarriers, ABlockOfSeveralWaitsForItsCluster) {
  WarpBarriers barriers;
  barriers.Reset(3, 96, true);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0, kClusterBarrier), &released));
  EXPECT_FALSE(barriers.HasArrivedInCluster());
  EXPECT_FALSE(barriers.Arrive(
      {.id = kClusterBarrier, .warp = 1, .mask = ~0u, .live = ~0u, .threads = 0, .wait = false}, &released));
  EXPECT_EQ(barriers.WarpFinished(2), 0u);
  EXPECT_TRUE(barriers.HasArrivedInCluster());
  EXPECT_FALSE(barriers.Await(kClusterBarrier, 1)) << "other blocks have not arrived";
  EXPECT_EQ(barriers.CompleteOfCluster(), 0b011u);
  EXPECT_FALSE(barriers.HasArrivedInCluster());
  EXPECT_TRUE(barriers.Await(kClusterBarrier, 1));
}

TEST(WarpBarriers, PartsOfAWarpAddUp) {
  WarpBarriers barriers;
  barriers.Reset(1, 32);
  uint32_t released = 0;
  EXPECT_FALSE(
      barriers.Arrive({.id = 0, .warp = 0, .mask = 0xffff, .live = ~0u, .threads = 0, .wait = false}, &released));
  EXPECT_TRUE(
      barriers.Arrive({.id = 0, .warp = 0, .mask = 0xffff0000, .live = ~0u, .threads = 0, .wait = true}, &released));
}

TEST(WarpBarriers, WhoArrivedBeforeWaitsForThatPhaseOnly) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  WarpBarriers::Arrival arrival = Full(0, kClusterBarrier);
  arrival.wait = false;
  EXPECT_FALSE(barriers.Arrive(arrival, &released));
  EXPECT_FALSE(barriers.Await(kClusterBarrier, 0)) << "the other warp has not arrived";
  arrival.warp = 1;
  EXPECT_TRUE(barriers.Arrive(arrival, &released));
  EXPECT_EQ(released, 0b01u);
  EXPECT_TRUE(barriers.Await(kClusterBarrier, 1)) << "all have arrived";
  EXPECT_TRUE(barriers.Await(kClusterBarrier, 0));
}

TEST(WarpBarriers, CountedFormCompletesWithThatManyThreads) {
  WarpBarriers barriers;
  barriers.Reset(4, 128);
  uint32_t released = 0;
  const auto arrive = [&](uint32_t warp, bool wait) {
    return barriers.Arrive({.id = 3, .warp = warp, .mask = ~0u, .live = ~0u, .threads = 64, .wait = wait}, &released);
  };
  EXPECT_FALSE(arrive(0, true));
  EXPECT_TRUE(arrive(3, false));
  EXPECT_EQ(released, 0b0001u);
  EXPECT_FALSE(arrive(1, true)) << "the next phase counts from zero";
}

TEST(WarpBarriers, BarriersDoNotMix) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0, 1), &released));
  EXPECT_FALSE(barriers.Arrive(Full(1, 2), &released));
}

TEST(WarpBarriers, ReductionIsKeptForEachWarp) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  const auto vote = [&](uint32_t warp, uint32_t votes) {
    auto arrival = Full(warp);
    arrival.votes = votes;
    return barriers.Arrive(arrival, &released);
  };
  vote(0, 0x3);
  EXPECT_TRUE(vote(1, ~0u));
  // The next phase begins before warp 0 has looked.
  vote(1, 0);
  EXPECT_EQ(barriers.outcome(0).Reduce(BarrierReduction::kPopulation), 34u);
  EXPECT_EQ(barriers.outcome(0).Reduce(BarrierReduction::kAnd), 0u);
  EXPECT_EQ(barriers.outcome(1).Reduce(BarrierReduction::kOr), 1u);
}

TEST(WarpBarriers, ResetForgetsOpenPhases) {
  WarpBarriers barriers;
  barriers.Reset(2, 64);
  uint32_t released = 0;
  EXPECT_FALSE(barriers.Arrive(Full(0), &released));
  barriers.Reset(2, 64);
  EXPECT_FALSE(barriers.Arrive(Full(1), &released));
}

}  // namespace
}  // namespace tutti::guest
