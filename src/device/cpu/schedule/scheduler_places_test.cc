// Which SM gets which blocks of grids whose blocks may begin in any order. The test acts as the SMs.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

class SchedulerPlaces : public testing::Test {
 protected:
  SchedulerPlaces() : ticker_([](uint64_t) { return kNever; }), scheduler_({.sms = 2}, &ticker_, &pool_) {
    for (uint32_t i = 0; i < 2; ++i) scheduler_.sm(i).thread = &threads_[i];
  }

  SpaceShare* NewShare(double percentage = 100) {
    SpaceShare& share = shares_.emplace_back();
    scheduler_.AddShare(&share);
    scheduler_.SetLimits(&share, {.percentage = percentage});
    return &share;
  }
  Task* Submit(SpaceShare* share, uint64_t blocks, bool any_order = true) {
    Task& task = tasks_.emplace_back();
    task.share = share;
    task.total_blocks = blocks;
    task.urgency = 5;
    task.is_kernel = true;
    task.any_order = any_order;
    task.habits = &habits_;
    scheduler_.Perform(scheduler_.Submit(&task));
    return &task;
  }
  bool Take(uint32_t sm) {
    uint32_t seen;
    uint64_t retry_at_ns;
    return scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen, &retry_at_ns);
  }
  bool Finish(uint32_t sm) {
    SmState& state = scheduler_.sm(sm);
    const ChunkResult result{.finished = chunks_[sm].count, .end_ns = state.begin_ns + 1000};
    const bool done = scheduler_.Finish(state, chunks_[sm], result);
    if (done) scheduler_.Release(state);
    return done;
  }

  Ticker ticker_;
  BlockPool pool_;
  guest::GuestThread threads_[2];
  Scheduler scheduler_;
  std::deque<SpaceShare> shares_;
  std::deque<Task> tasks_;
  BlockHabits habits_;
  Chunk chunks_[2];
};

// Which SM has begun which block of a grid of 100, where both come in turns, and the first `lead` more times at first.
std::vector<uint32_t> WhoHasWhich(Scheduler& scheduler, uint32_t lead) {
  std::vector<uint32_t> who(100, ~0u);
  for (uint32_t turn = 0;; ++turn) {
    const uint32_t sm = turn < lead ? 0 : turn % 2;
    Chunk chunk;
    uint32_t seen;
    uint64_t retry_at_ns;
    if (!scheduler.Take(scheduler.sm(sm), &chunk, &seen, &retry_at_ns)) return who;
    for (uint64_t i = chunk.first; i < chunk.first + chunk.count; ++i) {
      EXPECT_EQ(who[i], ~0u) << i;
      who[i] = sm;
    }
    if (scheduler.Finish(scheduler.sm(sm), chunk, {.finished = chunk.count, .end_ns = NowNs()}))
      scheduler.Release(scheduler.sm(sm));
  }
}

TEST_F(SchedulerPlaces, AnSmHasTheSameBlocksInTheNextLaunch) {
  habits_.ns = 7'000;
  const auto launch = [&](bool any_order, uint32_t lead) {
    Task* const task = Submit(NewShare(), 100, any_order);
    auto who = WhoHasWhich(scheduler_, lead);
    EXPECT_EQ(task->order.ended(), 100u);
    return who;
  };
  const auto begun_by = [](const std::vector<uint32_t>& who, size_t begin, uint32_t sm) {
    return std::count(who.begin() + static_cast<ptrdiff_t>(begin), who.begin() + static_cast<ptrdiff_t>(begin) + 50,
                      sm);
  };
  std::vector<uint32_t> even = launch(true, 0);
  EXPECT_EQ(begun_by(even, 0, 0), 50);
  EXPECT_EQ(begun_by(even, 50, 1), 50);
  std::vector<uint32_t> helped = launch(true, 20);
  EXPECT_EQ(begun_by(helped, 0, 0), 50);
  EXPECT_GE(begun_by(helped, 50, 1), 30);
  EXPECT_EQ(helped[50], 1u);
  EXPECT_EQ(helped[99], 0u) << "helps at the end";
  EXPECT_LT(begun_by(launch(false, 0), 0, 0), 40) << "in order";
}

TEST_F(SchedulerPlaces, AChunkIsNoLongerThanAnEvenPartOfAllThatIsLeft) {
  habits_.ns = 2'000;
  Submit(NewShare(), 30);
  ASSERT_TRUE(Take(0));
  EXPECT_EQ(chunks_[0].count, 10u) << "20 us of its part of 15";
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(chunks_[1].count, 10u);
  Finish(0);
  ASSERT_TRUE(Take(0));
  EXPECT_EQ(chunks_[0].count, 5u) << "the rest of its part";
  Finish(0);
  ASSERT_TRUE(Take(0));
  EXPECT_EQ(chunks_[0].first, 25u) << "the other's";
  EXPECT_EQ(chunks_[0].count, 5u);
}

TEST_F(SchedulerPlaces, AShortGridIsNotDivided) {
  habits_.ns = 200;
  Submit(NewShare(), 100);
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(chunks_[1].first, 0u);
  EXPECT_EQ(chunks_[1].count, 100u);
  Finish(1);
  habits_.ns = 0;
  Submit(NewShare(), 100);
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(chunks_[1].first, 0u) << "nor one of which nothing is known";
}

TEST_F(SchedulerPlaces, OneSmThatMayRunItHasAllPlaces) {
  habits_.ns = 7'000;
  SpaceShare* const share = NewShare(50);
  Submit(share, 100);
  std::vector<bool> begun(100);
  bool done = false;
  while (!done) {
    ASSERT_TRUE(Take(1));
    EXPECT_FALSE(Take(0));
    for (uint64_t i = 0; i < chunks_[1].count; ++i) {
      EXPECT_FALSE(begun[chunks_[1].first + i]);
      begun[chunks_[1].first + i] = true;
    }
    done = Finish(1);
  }
  EXPECT_EQ(std::count(begun.begin(), begun.end(), true), 100);
}

}  // namespace
}  // namespace tutti::device::cpu
