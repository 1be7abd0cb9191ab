// Adaptive spinning before a sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace tutti::ipc {

// The budget grows when spinning has paid and shrinks when it has not: waits for long kernels soon sleep at once, and
// short round trips never sleep. Shared by all waiters of one kind. Thread-safe.
class SpinBudget {
 public:
  static constexpr uint64_t kMaxNs = 50'000;  // about ten times what a futex round trip costs
  static constexpr uint64_t kMinNs = 2'000;

  // Spins until `done()` holds or the budget is spent; returns whether it holds.
  template <typename Done>
  bool Spin(Done done) {
    if (done()) return true;
    // At most half of the cores spin: the others run what is being waited for.
    const SpinnerCount count;
    if (!count.allowed()) return done();
    const uint64_t budget_ns = budget_ns_.load(std::memory_order_relaxed);
    const uint64_t start_ns = NowNs();
    do {
      for (int i = 0; i < 16; ++i) {
        if (done()) {
          if (budget_ns < kMaxNs)
            budget_ns_.store(budget_ns * 2 < kMaxNs ? budget_ns * 2 : kMaxNs, std::memory_order_relaxed);
          return true;
        }
        CpuRelax();
      }
    } while (NowNs() - start_ns < budget_ns);
    budget_ns_.store(budget_ns / 2 > kMinNs ? budget_ns / 2 : kMinNs, std::memory_order_relaxed);
    return false;
  }

 private:
  // Counts the calling thread among this process's spinners while it lives.
  class SpinnerCount {
   public:
    SpinnerCount();
    ~SpinnerCount();
    bool allowed() const { return allowed_; }

   private:
    bool allowed_;
  };

  std::atomic<uint64_t> budget_ns_{kMaxNs};
};

}  // namespace tutti::ipc
