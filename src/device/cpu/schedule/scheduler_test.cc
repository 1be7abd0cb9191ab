// The scheduler without threads: the test acts as the SMs.
#include "device/cpu/schedule/scheduler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() : ticker_([](uint64_t) { return kNever; }), scheduler_({.sms = 2}, &ticker_, &pool_) {
    for (uint32_t i = 0; i < 2; ++i) scheduler_.sm(i).thread = &threads_[i];
  }

  SpaceShare* NewShare(double percentage = 100) {
    SpaceShare& share = shares_.emplace_back();
    scheduler_.AddShare(&share);
    scheduler_.SetLimits(&share, {.percentage = percentage});
    return &share;
  }

  Task* Submit(SpaceShare* share, uint64_t blocks, uint32_t urgency = 5, bool is_kernel = false) {
    Task& task = tasks_.emplace_back();
    task.share = share;
    task.total_blocks = blocks;
    task.urgency = urgency;
    task.is_kernel = is_kernel;
    task.habits = &habits_;
    scheduler_.Perform(scheduler_.Submit(&task));
    return &task;
  }

  // The task of which `sm` gets a chunk; null: none.
  Task* Take(uint32_t sm) {
    uint32_t seen;
    return scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen, &retry_at_ns_) ? chunks_[sm].task : nullptr;
  }
  bool Finish(uint32_t sm, uint64_t ran_ns = 1000, uint64_t stolen_ns = 0) {
    const Chunk& chunk = chunks_[sm];
    const bool done = scheduler_.Finish(
        scheduler_.sm(sm), chunk,
        {.finished = chunk.count, .end_ns = scheduler_.sm(sm).begin_ns + ran_ns, .stolen_ns = stolen_ns});
    if (done) scheduler_.Release(scheduler_.sm(sm));
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
  uint64_t retry_at_ns_ = 0;
};

TEST_F(SchedulerTest, AnSmThatHasLookedInVainLooksAgainWhenTheTurnOfItsClientComes) {
  SpaceShare *const first = NewShare(), *const bound = NewShare();
  scheduler_.SetLimits(bound, {.sms = SmSet(2)});  // SM 1
  for (int i = 0; i < 2; ++i) {
    scheduler_.SetPolicy(Policy::kTimeSlice);  // turns begin anew
    Task* const begun = Submit(first, 1);
    ASSERT_EQ(Take(0), begun);
    Task* const waits = Submit(bound, 1);
    ASSERT_EQ(Take(1), nullptr) << "the device is the other's";
    const uint32_t seen = scheduler_.gate().epoch();
    ASSERT_TRUE(Finish(0));
    ASSERT_EQ(Take(0), nullptr);
    EXPECT_NE(scheduler_.gate().epoch(), seen);
    EXPECT_EQ(Take(1), waits);
    ASSERT_TRUE(Finish(1));
  }
}

// The SM that it is for has no core for a while, say. All others are told once, and sleep then.
TEST_F(SchedulerTest, SmsThatFindNothingDoNotTellEachOtherAgainAndAgain) {
  for (const Policy policy : {Policy::kShare, Policy::kTimeSlice}) {
    scheduler_.SetPolicy(policy);
    SpaceShare* const bound = NewShare();
    scheduler_.SetLimits(bound, {.sms = SmSet(2)});  // SM 1
    for (int i = 0; i < 2; ++i) {
      Task* const waits = Submit(bound, 1);
      ASSERT_TRUE(scheduler_.gate().LieDown(scheduler_.gate().epoch(), false)) << "another SM";
      ASSERT_EQ(Take(0), nullptr);
      ASSERT_EQ(scheduler_.gate().owed(), 1u) << "it is told, by whoever comes first";
      scheduler_.gate().GetUp(true);
      const uint32_t seen = scheduler_.gate().epoch();
      ASSERT_TRUE(scheduler_.gate().LieDown(seen, false)) << "nor has it found anything";
      ASSERT_EQ(Take(0), nullptr);
      EXPECT_EQ(scheduler_.gate().owed(), 0u);
      EXPECT_EQ(scheduler_.gate().epoch(), seen);
      scheduler_.gate().GetUp(false);
      ASSERT_EQ(Take(1), waits);
      ASSERT_TRUE(Finish(1));
    }
  }
}

// As a GPU's engines for copies do, whatever its SMs run.
TEST_F(SchedulerTest, ATransferNeedNotWaitForBlocksOfItsOwnClientThatRunOn) {
  SpaceShare* const share = NewShare();
  Task* const kernel = Submit(share, 2, 5, true);
  ASSERT_EQ(Take(0), kernel);
  ASSERT_EQ(Take(1), kernel);
  const auto told = [this] {
    scheduler_.Tick(NowNs() + 1'000'000);
    return !threads_[0].WasToldTo(guest::StopReason::kNone) && !threads_[1].WasToldTo(guest::StopReason::kNone);
  };
  EXPECT_FALSE(told());
  Submit(share, 1, 5, true);
  EXPECT_FALSE(told()) << "a kernel";
  Submit(share, 1);
  EXPECT_TRUE(told());
}

// As if its blocks were on the SMs beside the other grid's.
TEST_F(SchedulerTest, AGridThatHasBegunNeedNotWaitForBlocksOfItsOwnClientThatRunOn) {
  constexpr uint64_t kMostNs = 2'000'000;
  SpaceShare* const share = NewShare();
  habits_.ns = 1'000'000;  // a chunk is a block
  const auto told = [this] {
    scheduler_.Tick(NowNs() + kMostNs);
    return !threads_[1].WasToldTo(guest::StopReason::kNone);
  };
  Task* const begun = Submit(share, 4, 5, true);
  ASSERT_EQ(Take(0), begun);
  Task* const runs_on = Submit(share, 4, 5, true);
  ASSERT_EQ(Take(1), begun);
  ASSERT_FALSE(Finish(1));
  ASSERT_EQ(Take(1), runs_on);
  EXPECT_FALSE(told()) << "an SM runs both";
  ASSERT_FALSE(Finish(0));
  ASSERT_EQ(Take(0), begun);
  ASSERT_FALSE(Finish(0));
  ASSERT_EQ(Take(0), runs_on);
  Submit(share, 4, 5, true);  // one that has not begun changes nothing
  const uint64_t now_ns = NowNs();
  EXPECT_LE(scheduler_.Tick(now_ns), now_ns + kMostNs);
  EXPECT_TRUE(told());
  ASSERT_FALSE(Finish(1));
  ASSERT_EQ(Take(1), begun);
  EXPECT_FALSE(told()) << "it has an SM";
}

TEST_F(SchedulerTest, GivesOutEveryBlockOnceAndReportsTheEnd) {
  SpaceShare* const share = NewShare();
  Submit(share, 1000);
  habits_.ns = 500;
  uint64_t next = 0;
  bool done = false;
  while (Take(0) != nullptr) {
    EXPECT_FALSE(done);
    EXPECT_EQ(chunks_[0].first, next);
    next += chunks_[0].count;
    EXPECT_LE(chunks_[0].count, 40u) << "a chunk is about 20 us of work";
    done = Finish(0);
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(next, 1000u);
}

TEST_F(SchedulerTest, WhileOthersHaveTheCoreAClientSpendsNothing) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  for (const bool stolen : {false, true}) {
    SpaceShare* const share = NewShare(10);
    Submit(share, 2);
    habits_.ns = 1'000'000;
    ASSERT_TRUE(Take(0));
    Finish(0, kSecondNs, stolen ? kSecondNs : 0);
    EXPECT_EQ(share->cap.throttled(), !stolen);
    scheduler_.RemoveShare(share);
  }
}

TEST_F(SchedulerTest, BlocksGivenBackAreGivenOutAgain) {
  SpaceShare* const share = NewShare();
  Submit(share, 10);
  habits_.ns = 1;
  ASSERT_TRUE(Take(0));
  ASSERT_EQ(chunks_[0].count, 10u);
  EXPECT_FALSE(scheduler_.Finish(scheduler_.sm(0), chunks_[0],
                                 {.finished = 4, .rest_begin = 4, .rest_end = 10, .end_ns = NowNs()}));
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(chunks_[1].first, 4u);
  EXPECT_EQ(chunks_[1].count, 6u);
  EXPECT_TRUE(Finish(1));
}

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

// What an SM leaves may be for another one, which had found nothing and slept.
TEST_F(SchedulerTest, AnSmThatMayNotGoOnWakesTheOneThatMay) {
  SpaceShare* const share = NewShare();
  Submit(share, 1);
  ASSERT_TRUE(Take(0));
  scheduler_.SetLimits(share, {.sms = SmSet().set(1)});
  ASSERT_FALSE(Take(1));
  EXPECT_FALSE(scheduler_.Finish(scheduler_.sm(0), chunks_[0], {.rest_begin = 0, .rest_end = 1, .end_ns = NowNs()}));
  std::future<void> slept = std::async(std::launch::async, [this, epoch = scheduler_.gate().epoch()] {
    scheduler_.gate().Sleep(epoch, kNever, !scheduler_.restricted());
  });
  // It wakes whoever sleeps at that moment, so again until the other does.
  for (int i = 0; i < 1000 && slept.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready; ++i)
    ASSERT_FALSE(Take(0));
  EXPECT_EQ(slept.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  scheduler_.gate().WakeAll();
  EXPECT_TRUE(Take(1));
  EXPECT_TRUE(Finish(1));
}

TEST_F(SchedulerTest, UrgentStreamsGoFirstThenRoundRobin) {
  SpaceShare* const share = NewShare();
  habits_.ns = 1'000'000;
  Task* const a = Submit(share, 2);
  Task* const b = Submit(share, 2);
  Task* const urgent = Submit(share, 1, 0);
  std::vector<Task*> order;
  while (Task* task = Take(0)) {
    order.push_back(task);
    Finish(0);
  }
  EXPECT_EQ(order, (std::vector<Task*>{urgent, a, b, a, b}));
}

TEST_F(SchedulerTest, SpacesRunSideBySide) {
  SpaceShare* const first = NewShare();
  SpaceShare* const second = NewShare();
  habits_.ns = 1'000'000;
  Submit(first, 10);
  Submit(second, 10);
  Task* const on_first_sm = Take(0);
  Task* const on_second_sm = Take(1);
  EXPECT_NE(on_first_sm->share, on_second_sm->share);
}

TEST_F(SchedulerTest, APercentageLimitsTheSms) {
  SpaceShare* const half = NewShare(50);
  Submit(half, 10);
  EXPECT_TRUE(Take(0));
  EXPECT_FALSE(Take(1));
  Finish(0);
  EXPECT_TRUE(Take(1));
  scheduler_.SetLimits(half, {.percentage = 100});
  EXPECT_TRUE(Take(0)) << "live";
}

TEST_F(SchedulerTest, BelowOneSmAPercentageLimitsTheTime) {
  SpaceShare* const quarter = NewShare(25);  // of two SMs: half of one
  Submit(quarter, 10);
  ASSERT_TRUE(Take(0));
  const uint64_t begin_ns = scheduler_.sm(0).begin_ns;
  constexpr uint64_t kRanNs = 1'000'000'000;
  Finish(0, kRanNs);
  EXPECT_FALSE(Take(0));
  // It may go on when the time it has run is half of the time that has passed.
  EXPECT_NEAR(static_cast<double>(retry_at_ns_ - begin_ns), 2.0 * kRanNs, 0.02 * kRanNs);
}

TEST_F(SchedulerTest, DropReturnsWhatDoesNotRunAndAbandonsTheRest) {
  SpaceShare* const share = NewShare();
  habits_.ns = 1'000'000;
  Task* const running = Submit(share, 1);
  Task* const queued = Submit(share, 1);
  ASSERT_EQ(Take(0), running);
  std::vector<Task*> dropped;
  scheduler_.Drop(share, &dropped);
  EXPECT_EQ(dropped, std::vector<Task*>{queued});
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kAbandon);
  EXPECT_FALSE(Take(1));
  EXPECT_TRUE(scheduler_.Finish(scheduler_.sm(0), chunks_[0], {.finished = 0, .end_ns = NowNs()})) << "it is done, too";
  scheduler_.Release(scheduler_.sm(0));
  scheduler_.WaitQuiet(share);
}

TEST_F(SchedulerTest, TheTickerIsToldWhenToLook) {
  SpaceShare* const hog = NewShare();
  SpaceShare* const other = NewShare();
  Submit(hog, 2);
  ASSERT_TRUE(Take(0));
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(scheduler_.Tick(NowNs()), kNever) << "nobody waits";
  Submit(other, 1);
  const uint64_t now_ns = NowNs();
  const uint64_t look_at_ns = scheduler_.Tick(now_ns);
  EXPECT_GT(look_at_ns, now_ns);
  EXPECT_LE(look_at_ns, now_ns + FairPolicy::kMostLeadNs);
  // If the machine delayed the test for longer than a slice, preempting the hog is right.
  if (now_ns - scheduler_.sm(0).begin_ns < FairPolicy::kSliceNs) {
    EXPECT_EQ(threads_[0].stop, guest::StopReason::kNone);
  }
}

TEST_F(SchedulerTest, AKernelsTimeLimitIsATimeToLook) {
  SpaceShare* const share = NewShare();
  scheduler_.SetLimits(share, {.kernel_limit_ns = 5'000'000});
  Submit(share, 1, 5, true);
  ASSERT_TRUE(Take(0));
  const uint64_t end_ns = scheduler_.sm(0).begin_ns + 5'000'000;
  EXPECT_EQ(scheduler_.Tick(end_ns - 1'000'000), end_ns);
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kNone);
  scheduler_.Tick(end_ns);
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kTimeLimit);
}

// It takes some thirty times as long, and the limit is meant for the other.
TEST_F(SchedulerTest, AKernelInQuickCodeHasMoreTime) {
  SpaceShare* const share = NewShare();
  scheduler_.SetLimits(share, {.kernel_limit_ns = 5'000'000});
  Task* const task = Submit(share, 1, 5, true);
  task->is_quick = true;
  ASSERT_TRUE(Take(0));
  const uint64_t begin_ns = scheduler_.sm(0).begin_ns;
  scheduler_.Tick(begin_ns + 31 * 5'000'000);
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kNone);
  scheduler_.Tick(begin_ns + 32 * 5'000'000);
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kTimeLimit);
  scheduler_.SetLimits(share, {.kernel_limit_ns = 100'000'000'000});
  EXPECT_EQ(KernelLimitNs(*task), 160'000'000'000u);
  scheduler_.SetLimits(share, {});
  EXPECT_EQ(KernelLimitNs(*task), 0u);
}

TEST_F(SchedulerTest, ALongBlockIsToldToGiveWay) {
  SpaceShare* const hog = NewShare();
  SpaceShare* const other = NewShare();
  Submit(hog, 2);
  ASSERT_TRUE(Take(0));
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(scheduler_.Tick(NowNs() + 1'000'000'000), kNever) << "nobody waits";
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kNone);
  Submit(other, 1);
  EXPECT_NE(scheduler_.Tick(NowNs() + 1'000'000'000), kNever);
  EXPECT_EQ(threads_[0].stop, guest::StopReason::kPreempt);
  EXPECT_EQ(threads_[1].stop, guest::StopReason::kPreempt);
}

}  // namespace
}  // namespace tutti::device::cpu
