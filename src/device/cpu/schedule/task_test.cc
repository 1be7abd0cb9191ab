#include "device/cpu/schedule/task.h"

#include <gtest/gtest.h>

#include <thread>

namespace tutti::device::cpu {
namespace {

class LearnedTime : public testing::Test {
 protected:
  LearnedTime() {
    task_.habits = &habits_;
    task_.kernel.newest = &newest_;
  }
  // As whoever replaces it.
  void Replace() {
    newest_.store(&optimized_, std::memory_order_seq_cst);
    habits_.ForgetTime();
  }
  const guest::KernelDescriptor quick_{}, optimized_{};
  std::atomic<const guest::KernelDescriptor*> newest_{&quick_};
  BlockHabits habits_;
  Task task_;
};

TEST_F(LearnedTime, OfCodeThatWasReplacedIsForgotten) {
  LearnTime(task_, &quick_, 1000, 10);
  EXPECT_EQ(habits_.ns, 100u);
  Replace();
  EXPECT_EQ(habits_.ns, 0u);
  LearnTime(task_, &quick_, 1000, 10);  // a chunk that began before
  EXPECT_EQ(habits_.ns, 0u);
  LearnTime(task_, &optimized_, 20, 10);
  EXPECT_EQ(habits_.ns, 2u);
}

TEST_F(LearnedTime, OfCodeThatIsNotReplacedAndOfCopiesStays) {
  task_.kernel.newest = nullptr;
  LearnTime(task_, &optimized_, 1000, 10);
  EXPECT_EQ(habits_.ns, 100u);
  task_.kernel.newest = &newest_;  // of an earlier launch
  LearnTime(task_, nullptr, 1000, 10);
  EXPECT_EQ(habits_.ns, 100u);
}

TEST_F(LearnedTime, OfBlocksThatEndAsItIsReplacedIsForgottenToo) {
  constexpr int kRounds = 20'000;
  std::atomic<int> begun{0}, done{0};
  std::thread worker([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (begun != round) std::this_thread::yield();
      LearnTime(task_, &quick_, 1000, 10);
      done = round;
    }
  });
  int wrong = 0;
  for (int round = 1; round <= kRounds; ++round) {
    newest_ = &quick_;
    begun = round;
    for (int pause = 0; pause < round % 64; ++pause) __asm__ volatile("" ::: "memory");
    Replace();
    while (done != round) std::this_thread::yield();
    wrong += habits_.ns != 0 ? 1 : 0;
  }
  worker.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tutti::device::cpu
