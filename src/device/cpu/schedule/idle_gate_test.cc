#include "device/cpu/schedule/idle_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace tutti::device::cpu {
namespace {

// Threads that sleep until the epoch moves, and say which one they have seen.
class Sleepers {
 public:
  Sleepers(int count, bool takes_all) : takes_all_(takes_all), seen_(count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { Loop(&seen_[i]); });
  }
  ~Sleepers() {
    stopping_ = true;
    Wake();
    for (std::thread& thread : threads_) thread.join();
  }
  void Wake() {
    gate_.Advance();
    gate_.WakeAll();
  }
  bool AllHaveSeen(uint32_t epoch) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (const std::atomic<uint32_t>& seen : seen_) {
      while (seen.load() != epoch) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
      }
    }
    return true;
  }
  uint32_t epoch() const { return gate_.epoch(); }

 private:
  void Loop(std::atomic<uint32_t>* seen) {
    for (;;) {
      const uint32_t epoch = gate_.epoch();
      if (stopping_) return;  // looked at after the epoch, as Worker::Idle does: else the last wake-up could be missed
      seen->store(epoch);
      gate_.Sleep(epoch, kNever, takes_all_);
    }
  }

  const bool takes_all_;
  IdleGate gate_;
  std::atomic<bool> stopping_{false};
  std::vector<std::atomic<uint32_t>> seen_;
  std::vector<std::thread> threads_;
};

TEST(IdleGate, AWakeOfAllReachesEachWhoSlept) {
  Sleepers sleepers(4, /*takes_all=*/false);
  for (int round = 0; round < 200; ++round) {
    sleepers.Wake();
    ASSERT_TRUE(sleepers.AllHaveSeen(sleepers.epoch())) << "round " << round;
  }
}

// Those who were not asleep yet see the new epoch by themselves; the wake-ups of the others remain for them.
TEST(IdleGate, TheEndReachesEverybody) {
  for (int round = 0; round < 500; ++round) Sleepers sleepers(3, /*takes_all=*/true);
}

TEST(IdleGate, ASleepEndsAtItsTime) {
  IdleGate gate;
  gate.Sleep(gate.epoch(), NowNs() + 1'000'000, true);
  gate.WakeOne();  // nobody sleeps any more, so this wakes nobody
  const uint64_t begin_ns = NowNs();
  gate.Sleep(gate.epoch(), begin_ns + 1'000'000, true);
  EXPECT_GE(NowNs(), begin_ns + 1'000'000);
}

// One worker and its waker, in the same thread.
struct SimulatedFiles {
  template <typename T>
  using Atomic = std::atomic<T>;
  struct Edges {
    bool post = false;
    bool doorbell = false;
  };
  struct Patience {
    void Wait() {}
  };
  static inline uint64_t now_ns = 0;
  uint64_t posts = 0;

  void Post(uint64_t count) { posts += count; }
  Edges Wait(uint64_t) { return {.post = posts != 0}; }
  uint64_t TakePosts() { return std::exchange(posts, 0); }
  static uint64_t NowNs() { return now_ns; }
};

TEST(IdleGate, AWorkerThatDrowsesIsCalledUnlessItHasLostItsCore) {
  constexpr uint64_t kUs = 1'000;
  BasicIdleGate<SimulatedFiles> gate;
  for (const uint64_t off_us : {1, 1'000}) {
    uint64_t last_ns = SimulatedFiles::now_ns = 1'000'000'000;
    for (int looks = 0; looks < 100; ++looks) {
      bool is_over = false;
      int asked = 0;
      EXPECT_TRUE(gate.Drowse(gate.epoch(), true, [&] {
        SimulatedFiles::now_ns += kUs;
        if (++asked == 2) return true;  // it has not heard
        EXPECT_FALSE(gate.HasCore(last_ns, SimulatedFiles::now_ns)) << "nobody has been woken";
        last_ns = SimulatedFiles::now_ns;
        SimulatedFiles::now_ns += off_us * kUs;
        EXPECT_EQ(gate.WakeOne(), off_us > 100) << "by a system call, of which a sleeper hears";
        is_over = gate.HasCore(last_ns, SimulatedFiles::now_ns);
        return is_over;
      })) << "nobody else sleeps";
      EXPECT_EQ(is_over, off_us > 100);
      EXPECT_EQ(gate.sleepers() + gate.owed(), 0u);
      last_ns = SimulatedFiles::now_ns;
    }
  }
}

}  // namespace
}  // namespace tutti::device::cpu
