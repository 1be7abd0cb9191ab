// Getting a thread out of a block that it is about to enter, is in, or goes back to.
#include "device/cpu/block_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "device/cpu/sanitizers.h"

namespace tutti::device::cpu {
namespace {

class BlockRunTest : public testing::Test {
 protected:
  BlockRunTest() : scope_((InstallGuestFaultHandlers(), &thread_)) {}

  GuestThread thread_;
  GuestThreadScope scope_;
  BlockRun run_;
};

struct Progress {
  std::atomic<uint64_t> entered{0};
  std::atomic<bool> go{true};
};

void Enter(const void* argument, uint64_t) {
  auto* const progress = static_cast<Progress*>(const_cast<void*>(argument));
  ++progress->entered;
  while (!progress->go.load(std::memory_order_relaxed)) {
  }
}

TEST_F(BlockRunTest, AStopThatCameBeforeTheFirstInstructionIsHeard) {
  Progress progress;
  ASSERT_TRUE(run_.PrepareCall(&Enter, &progress, 0));
  thread_.stop = StopReason::kPreempt;  // its signal has found the thread in our own code
  EXPECT_EQ(run_.Run(&thread_), Leave::kStopped);
  EXPECT_EQ(progress.entered, 0u);
  thread_.stop = StopReason::kNone;
  EXPECT_EQ(run_.Run(&thread_), Leave::kFinished);
  EXPECT_EQ(progress.entered, 1u);
}

TEST_F(BlockRunTest, AStopThatCameBeforeAPreemptedBlockGoesOnIsHeard) {
  if (!kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  Progress progress;
  progress.go = false;
  ASSERT_TRUE(run_.PrepareCall(&Enter, &progress, 0));
  std::thread other([&] {
    while (progress.entered == 0) std::this_thread::yield();
    thread_.stop = StopReason::kPreempt;
    thread_.Interrupt();
  });
  EXPECT_EQ(run_.Run(&thread_), Leave::kStopped);
  other.join();
  EXPECT_EQ(run_.Run(&thread_), Leave::kStopped) << "still told to";
  thread_.stop = StopReason::kNone;
  progress.go = true;
  EXPECT_EQ(run_.Run(&thread_), Leave::kFinished);
  EXPECT_EQ(progress.entered, 1u);
}

}  // namespace
}  // namespace tutti::device::cpu
