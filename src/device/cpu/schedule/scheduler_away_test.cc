// SMs whose threads step away with work left, beside one that has looked in vain and is about to sleep: it is no
// sleeper yet, so nobody wakes it. The test acts as the SMs.
#include <gtest/gtest.h>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

class SchedulerAway : public testing::Test {
 protected:
  static constexpr uint32_t kSms = 4;
  SchedulerAway()
      : ticker_([](uint64_t) { return kNever; }),
        scheduler_({.sms = kSms, .cores = 2}, &ticker_, &pool_, [] { return now_ns; }) {
    for (uint32_t i = 0; i < kSms; ++i) scheduler_.sm(i).thread = &threads_[i];
    for (Work& work : works_) scheduler_.AddShare(&work.share);
  }

  struct Work {
    SpaceShare share;
    Task task;
    BlockHabits habits;
  };
  void Submit(Work& work, uint64_t blocks) {
    work.task.share = &work.share;
    work.task.total_blocks = blocks;
    work.task.urgency = 5;
    work.task.habits = &work.habits;
    scheduler_.Perform(scheduler_.Submit(&work.task));
  }
  bool Take(uint32_t sm) { return scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen_[sm], &retry_at_ns_); }
  bool Finish(uint32_t sm, ChunkResult result) {
    result.end_ns = scheduler_.sm(sm).begin_ns + 1000;
    const bool done = scheduler_.Finish(scheduler_.sm(sm), chunks_[sm], result);
    if (done) scheduler_.Release(scheduler_.sm(sm));
    return done;
  }
  bool Sleeps(uint32_t sm) { return scheduler_.gate().LieDown(seen_[sm], !scheduler_.restricted()); }

  static inline uint64_t now_ns = 1'000'000'000;

  Ticker ticker_;
  BlockPool pool_;
  guest::GuestThread threads_[kSms];
  guest::BlockRun waits_;
  Scheduler scheduler_;
  Work works_[2];
  Chunk chunks_[kSms];
  uint32_t seen_[kSms] = {};
  uint64_t retry_at_ns_ = 0;
};

TEST_F(SchedulerAway, AnotherThatHasLookedInVainTakesTheBlockThatItLeavesWaiting) {
  Submit(works_[0], 2);
  ASSERT_TRUE(Take(0) && Take(1));
  ASSERT_FALSE(Take(2)) << "both blocks run";
  ASSERT_TRUE(waits_.PrepareCall([](const void*, uint64_t) {}, nullptr, chunks_[1].first));
  ASSERT_FALSE(Finish(1, {.suspended = &waits_, .yielded = true}));
  ASSERT_EQ(scheduler_.gate().epoch(), seen_[2]) << "SM 1 would look itself";
  scheduler_.StepAway(scheduler_.sm(1));
  ASSERT_FALSE(Sleeps(2));
  EXPECT_TRUE(Take(2));
}

TEST_F(SchedulerAway, AnotherThatHasLookedInVainTakesTheTurnOfItsClient) {
  scheduler_.SetPolicy(Policy::kTimeSlice);
  scheduler_.SetLimits(&works_[1].share, {.sms = SmSet(2)});  // SM 1
  Submit(works_[0], 1);
  ASSERT_TRUE(Take(0));
  Submit(works_[1], 1);
  ASSERT_FALSE(Take(1)) << "the device is the other's";
  ASSERT_TRUE(Finish(0, {.finished = 1}));
  ASSERT_EQ(scheduler_.gate().epoch(), seen_[1]) << "SM 0 would look itself";
  scheduler_.StepAway(scheduler_.sm(0));
  ASSERT_FALSE(Sleeps(1));
  EXPECT_TRUE(Take(1));
}

TEST_F(SchedulerAway, AnSmWhoseClientHasTheDeviceKeepsOthersWaitingForAQuantumAtMost) {
  scheduler_.SetPolicy(Policy::kTimeSlice);
  scheduler_.SetLimits(&works_[0].share, {.sms = SmSet(1)});  // SM 0
  works_[0].habits.ns = 1'000'000;  // a chunk is a block
  Submit(works_[0], 3);
  ASSERT_TRUE(Take(0));
  Submit(works_[1], 1);
  ASSERT_FALSE(Take(1));
  EXPECT_EQ(retry_at_ns_, kNever) << "the ticker looks";
  ASSERT_TRUE(Sleeps(1));
  ASSERT_FALSE(Finish(0, {.finished = 1}));
  scheduler_.StepAway(scheduler_.sm(0));
  ASSERT_EQ(scheduler_.gate().owed(), 1u);
  scheduler_.gate().GetUp(true);
  ASSERT_FALSE(Take(1)) << "the quantum is not over";
  ASSERT_NE(retry_at_ns_, kNever);
  now_ns = retry_at_ns_;
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(chunks_[1].task, &works_[1].task);
}

}  // namespace
}  // namespace tutti::device::cpu
