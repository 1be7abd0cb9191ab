// The scheduler without threads: the test acts as the SMs.
#include "device/cpu/schedule/scheduler.h"

#include <gtest/gtest.h>

#include <deque>
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

// What an SM leaves may be for another one, which had found nothing and slept.
TEST_F(SchedulerTest, AnSmThatMayNotGoOnWakesTheOneThatMay) {
  IdleGate& gate = scheduler_.gate();
  SpaceShare* const share = NewShare();
  Submit(share, 1);
  ASSERT_TRUE(Take(0));
  scheduler_.SetLimits(share, {.sms = SmSet().set(1)});
  ASSERT_FALSE(Take(1));
  ASSERT_TRUE(gate.LieDown(gate.epoch(), !scheduler_.restricted()));
  EXPECT_FALSE(scheduler_.Finish(scheduler_.sm(0), chunks_[0], {.rest_begin = 0, .rest_end = 1, .end_ns = NowNs()}));
  ASSERT_FALSE(Take(0));
  EXPECT_EQ(gate.owed(), 1u);
  EXPECT_TRUE(gate.GetUp(true));
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
