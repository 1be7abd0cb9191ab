#include "device/compile/shared_work.h"

#include <gtest/gtest.h>

#include <thread>

namespace tutti::device {
namespace {

using Work = SharedWork<int>;

Work::Outcome Made(int value) { return std::make_shared<const int>(value); }

TEST(SharedWork, IsDoneOnceForAllWhoAskAtTheSameTime) {
  Work work;
  const Cancelled never{false};
  std::atomic<int> made{0};
  std::vector<std::shared_ptr<const int>> kept(8);
  std::vector<std::thread> threads;
  for (auto& mine : kept) {
    threads.emplace_back([&] { mine = *work.Get(CacheKey{}, never, [&] { return Made(++made); }); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST(SharedWork, WhoeverIsCancelledLeavesTheWorkToTheOthers) {
  Work work;
  Cancelled gone{false};
  const Cancelled never{false};
  std::atomic<bool> begun{false}, waits{false};
  std::thread maker([&] {
    const auto outcome = work.Get(CacheKey{}, gone, [&]() -> Work::Outcome {
      begun = true;
      while (!gone) std::this_thread::yield();
      return Fail(Work::kCancelled, "");
    });
    EXPECT_FALSE(outcome);
  });
  while (!begun) std::this_thread::yield();
  std::thread other([&] {
    waits = true;
    const auto outcome = work.Get(CacheKey{}, never, [] { return Made(7); });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(**outcome, 7);
  });
  while (!waits) std::this_thread::yield();
  gone = true;
  maker.join();
  other.join();
}

TEST(SharedWork, WhoeverIsCancelledDoesNotWaitForTheMaker) {
  Work work;
  Cancelled gone{false};
  const Cancelled never{false};
  std::atomic<bool> begun{false}, finish{false};
  std::thread maker([&] {
    EXPECT_TRUE(work.Get(CacheKey{}, never, [&] {
      begun = true;
      while (!finish) std::this_thread::yield();
      return Made(1);
    }));
  });
  while (!begun) std::this_thread::yield();
  gone = true;
  EXPECT_FALSE(work.Get(CacheKey{}, gone, [] { return Made(2); }));
  finish = true;
  maker.join();
}

}  // namespace
}  // namespace tutti::device
