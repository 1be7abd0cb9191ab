// Adaptive spinning before a sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace tutti::ipc {

// The budget grows when spinning has paid and shrinks when it has not: waits for long kernels soon sleep at once, and
// short round trips never sleep. A wait that slept and was brief all the same might have been spared its sleep: the
// next one spins for twice as long. If that was in vain, since who is waited for needs the core, it takes more waits
// each time until the next try. Shared by all waiters of one kind. Thread-safe.
class SpinBudget {
 public:
  static constexpr uint64_t kMaxNs = 50'000;  // about ten times what a futex round trip costs
  static constexpr uint64_t kMinNs = 2'000;
  static constexpr uint32_t kLeastWaits = 4;  // between two tries
  static constexpr uint32_t kMostWaits = 1024;

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
          Paid(budget_ns);
          return true;
        }
        CpuRelax();
      }
    } while (NowNs() - start_ns < budget_ns);
    WasInVain(budget_ns);
    return false;
  }
  // A wait has slept, and is over after `ns` in all.
  void Slept(uint64_t ns);

  uint64_t budget_ns() const { return budget_ns_.load(std::memory_order_relaxed); }

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

  void Paid(uint64_t budget_ns);
  void WasInVain(uint64_t budget_ns);

  std::atomic<uint64_t> budget_ns_{kMaxNs};
  std::atomic<bool> tries_{false};  // the budget is that of a try
  std::atomic<uint32_t> waits_left_{0};  // until the next one
  std::atomic<uint32_t> waits_between_{kLeastWaits};
};

}  // namespace tutti::ipc
