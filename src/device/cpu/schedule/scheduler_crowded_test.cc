// The scheduler with more SMs than cores, without threads: the test acts as the SMs.
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

// Four SMs on two cores, and grids whose blocks wait for each other.
class CrowdedSchedulerTest : public testing::Test {
 protected:
  static constexpr uint32_t kSms = 4;
  CrowdedSchedulerTest()
      : ticker_([](uint64_t) { return kNever; }), scheduler_({.sms = kSms, .cores = 2}, &ticker_, &pool_) {
    for (uint32_t i = 0; i < kSms; ++i) scheduler_.sm(i).thread = &threads_[i];
    for (Work& work : works_) scheduler_.AddShare(&work.share);
  }

  struct Work {
    SpaceShare share;
    Task task;
    BlockHabits habits;
  };
  void Submit(Work& work, uint64_t blocks) { Submit(work, &work.task, blocks); }
  void Submit(Work& work, Task* task, uint64_t blocks) {
    task->share = &work.share;
    task->total_blocks = blocks;
    task->urgency = 5;
    task->habits = &work.habits;
    scheduler_.Perform(scheduler_.Submit(task));
  }
  bool Take(uint32_t sm) {
    uint32_t seen;
    uint64_t retry_at_ns;
    if (!scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen, &retry_at_ns)) return false;
    seen_[sm] = chunks_[sm].task->order.ended();
    return true;
  }
  // Times are made up: who is next depends on them.
  static constexpr uint64_t kRanNs = 1000;
  void Ends(uint32_t sm) {
    SmState& state = scheduler_.sm(sm);
    scheduler_.Finish(state, chunks_[sm], {.finished = 1, .end_ns = state.begin_ns + kRanNs});
  }
  // The block that the SM has begun yields, since it only waits.
  void Waits(uint32_t sm) {
    const Chunk& chunk = chunks_[sm];
    guest::BlockRun* run = chunk.resumed;
    if (run == nullptr) {
      run = runs_.emplace_back(std::make_unique<guest::BlockRun>()).get();
      ASSERT_TRUE(run->PrepareCall([](const void*, uint64_t) {}, nullptr, chunk.first));
    }
    scheduler_.Finish(
        scheduler_.sm(sm), chunk,
        {.suspended = run, .yielded = true, .seen_ended = seen_[sm], .end_ns = scheduler_.sm(sm).begin_ns + kRanNs});
  }

  // Block 0 runs; 1, 2 and 3 have waited for it.
  void BeginChain(Work& work) {
    Submit(work, 100);
    for (uint32_t sm = 0; sm < kSms; ++sm) ASSERT_TRUE(Take(sm));
    for (uint32_t sm = 1; sm < kSms; ++sm) Waits(sm);
  }

  Ticker ticker_;
  BlockPool pool_;
  guest::GuestThread threads_[kSms];
  std::vector<std::unique_ptr<guest::BlockRun>> runs_;  // of blocks that have waited, wherever they are now
  Scheduler scheduler_;
  Work works_[2];
  Chunk chunks_[kSms];
  uint64_t seen_[kSms] = {};
};

TEST_F(CrowdedSchedulerTest, WhatHasWaitedIsNotForMoreSmsThanThereAreCores) {
  BeginChain(works_[0]);
  Ends(0);  // news for all that wait
  ASSERT_TRUE(Take(0));
  EXPECT_EQ(chunks_[0].first, 1u);
  ASSERT_TRUE(Take(1)) << "there is a core for it";
  EXPECT_FALSE(Take(2)) << "it would take one of those two";
  EXPECT_FALSE(Take(3));
  Ends(0);
  EXPECT_TRUE(Take(3)) << "there is a core again";
}

TEST_F(CrowdedSchedulerTest, AKernelKnownToWaitIsNotForMoreSmsThanThereAreCoresFromItsFirstBlockOn) {
  works_[0].habits.waits = BlockHabits::kAlways;
  Submit(works_[0], 100);
  ASSERT_TRUE(Take(0));
  ASSERT_TRUE(Take(1)) << "there is a core for it";
  EXPECT_FALSE(Take(2)) << "it would take one of those two";
  Ends(0);
  EXPECT_TRUE(Take(3)) << "there is a core again";
}

TEST_F(CrowdedSchedulerTest, WhoSleepsIsWokenOnlyWhenAllThatAreAwakeHaveABlockIfTheyAreAsManyAsTheCores) {
  IdleGate& gate = scheduler_.gate();
  const auto sleep = [&gate, epoch = gate.epoch()] { gate.Sleep(epoch, kNever, true); };
  const std::future<void> slept[] = {std::async(std::launch::async, sleep), std::async(std::launch::async, sleep)};
  while (gate.sleepers() != 2) std::this_thread::yield();
  Submit(works_[0], 100);
  EXPECT_EQ(gate.sleepers(), 2u) << "SMs 0 and 1 will look";
  ASSERT_TRUE(Take(0));
  EXPECT_EQ(gate.sleepers(), 2u) << "SM 1 will look";
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(gate.sleepers(), 1u) << "nobody else would";
  gate.WakeAll();
}

TEST_F(CrowdedSchedulerTest, NobodyCountsOnAnSmThatIsAway) {
  IdleGate& gate = scheduler_.gate();
  const auto sleep = [&gate, epoch = gate.epoch()] { gate.Sleep(epoch, kNever, true); };
  const std::future<void> slept[] = {std::async(std::launch::async, sleep), std::async(std::launch::async, sleep)};
  while (gate.sleepers() != 2) std::this_thread::yield();
  scheduler_.StepAway(scheduler_.sm(0));
  EXPECT_EQ(gate.sleepers(), 2u) << "there is nothing to run";
  scheduler_.StepAway(scheduler_.sm(1));
  Submit(works_[0], 100);
  EXPECT_EQ(gate.sleepers(), 1u) << "nobody else would look";
  gate.WakeAll();
}

TEST_F(CrowdedSchedulerTest, AnSmThatStepsAwayLeavesWhatThereIsToAnother) {
  IdleGate& gate = scheduler_.gate();
  const auto sleep = [&gate, epoch = gate.epoch()] { gate.Sleep(epoch, kNever, true); };
  const std::future<void> slept[] = {std::async(std::launch::async, sleep), std::async(std::launch::async, sleep)};
  while (gate.sleepers() != 2) std::this_thread::yield();
  Submit(works_[0], 100);
  EXPECT_EQ(gate.sleepers(), 2u) << "SMs 0 and 1 will look";
  scheduler_.StepAway(scheduler_.sm(0));
  EXPECT_EQ(gate.sleepers(), 1u) << "in its place";
  gate.WakeAll();
}

// Eight grids of one client and one of another, each of one block that waits.
TEST_F(CrowdedSchedulerTest, OfClientsThatWaitNoneHasMoreForHavingMoreGrids) {
  std::deque<Task> chains(7);
  for (Task& chain : chains) Submit(works_[0], &chain, 1);
  Submit(works_[0], 1);
  Submit(works_[1], 1);
  uint64_t taken[2] = {};
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(Take(0));
    if (i >= 100) ++taken[chunks_[0].task->share == &works_[1].share];  // all have begun and wait
    Waits(0);
  }
  EXPECT_NEAR(static_cast<double>(taken[1]) / static_cast<double>(taken[0] + taken[1]), 0.5, 0.02);
}

TEST_F(CrowdedSchedulerTest, WhatHasWaitedIsForMoreSmsBesideATaskThatComputes) {
  BeginChain(works_[0]);
  Submit(works_[1], 1);
  ASSERT_TRUE(Take(1));
  ASSERT_EQ(chunks_[1].task, &works_[1].task);
  Ends(0);
  ASSERT_TRUE(Take(0));
  EXPECT_TRUE(Take(2)) << "its client would have less than its share";
}

TEST_F(CrowdedSchedulerTest, WhatHasWaitedIsForMoreSmsBesideATaskThatWaitedOnceAndComputes) {
  BeginChain(works_[0]);
  Submit(works_[1], 3);
  const auto takes = [this](uint64_t block) {
    return Take(1) && chunks_[1].task == &works_[1].task && chunks_[1].first == block;
  };
  ASSERT_TRUE(takes(0));
  Waits(1);
  ASSERT_TRUE(takes(1));
  Ends(1);
  ASSERT_TRUE(takes(0));
  Ends(1);
  ASSERT_TRUE(takes(2));
  Ends(0);
  ASSERT_TRUE(Take(0));
  EXPECT_TRUE(Take(2)) << "its client would have less than its share";
}

}  // namespace
}  // namespace tutti::device::cpu
