#include "server/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace tutti::server {
namespace {

size_t Threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// Tasks that run until they are told to end.
class Slow {
 public:
  void operator()() {
    std::unique_lock lock(mutex_);
    ++running_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return end_; });
    --running_;
    changed_.notify_all();
  }
  void AwaitRunning(uint32_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == count; });
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t running_ = 0;
  bool end_ = false;
};

TEST(WorkerPool, WhoseTasksTakeLongHoldsUpNobodyElse) {
  Slow slow;
  std::atomic<int> done{0};
  WorkerPool pool("test", 2);  // waits for its tasks
  for (uint32_t i = 0; i < WorkerPool::kPerClient + 1; ++i) ASSERT_TRUE(pool.Add(0, [&] { slow(); }));
  constexpr uint32_t kOthers = 100;
  for (uint32_t client = 1; client <= kOthers; ++client) ASSERT_TRUE(pool.Add(client, [&] { slow(); }));
  slow.AwaitRunning(WorkerPool::kPerClient + kOthers);
  for (const uint32_t client : {kOthers + 1, kOthers + 2}) ASSERT_TRUE(pool.Add(client, [&] { ++done; }));
  while (done < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // while all of theirs run
  slow.End();
}

// The thread that waits for work is one, and does not wait for both.
TEST(WorkerPool, TwoTasksOfAClientThatComeTogetherRunTogether) {
  for (int round = 0; round < 20; ++round) {
    Slow slow;
    WorkerPool pool("test", 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its thread waits, most likely
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.Add(1, [&] { slow(); }));
    slow.AwaitRunning(2);
    slow.End();
  }
}

TEST(WorkerPool, ThreadsInAdditionEndWhenThereIsNothingToDo) {
  WorkerPool pool("test", 2);
  const size_t before = Threads();
  for (int round = 0; round < 3; ++round) {
    Slow slow;
    for (uint32_t client = 0; client < 20; ++client) ASSERT_TRUE(pool.Add(client, [&] { slow(); }));
    slow.AwaitRunning(20);
    EXPECT_GE(Threads(), before + 19);
    slow.End();
    slow.AwaitRunning(0);
    while (Threads() > before + 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(WorkerPool, AClientHasNoMoreThanItsTasksRunning) {
  std::atomic<uint32_t> running{0}, most{0}, done{0};
  WorkerPool pool("test", 8);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool.Add(1, [&] {
      const uint32_t now = ++running;
      for (uint32_t seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --running;
      ++done;
    }));
  }
  while (done.load() < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LE(most.load(), WorkerPool::kPerClient);
}

}  // namespace
}  // namespace tutti::server
