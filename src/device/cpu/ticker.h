// The thread that looks after blocks that run long. It sleeps until the earliest time that somebody has asked for (Arm),
// then looks, and is told when to look next. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "base/clock.h"

namespace tutti::device::cpu {

class Ticker {
 public:
  static constexpr uint64_t kLeastPauseNs = 100'000;  // between two looks
  static constexpr uint64_t kMostLateNs = 200'000;    // rather than a wake for every change of mind

  // `tick(now_ns)` runs on the ticker's thread; it returns when to look again, or kNever.
  explicit Ticker(std::function<uint64_t(uint64_t)> tick);
  ~Ticker();

  // There will be a look at `at_ns`, or up to kMostLateNs later. Costs one load if that is so already.
  void Arm(uint64_t at_ns) {
    if (at_ns < kNever - kMostLateNs && at_ns + kMostLateNs < look_at_ns_.load(std::memory_order_seq_cst)) ArmSlow(at_ns);
  }

 private:
  void ArmSlow(uint64_t at_ns);
  bool Lower(uint64_t at_ns);
  void Loop();

  std::function<uint64_t(uint64_t)> tick_;
  std::atomic<uint64_t> look_at_ns_{kNever};
  std::atomic<uint32_t> kick_{0};  // futex
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tutti::device::cpu
