// The thread that looks after blocks that run long. It sleeps until somebody has to wait behind such a block (Arm),
// then ticks every kTickNs for as long as `tick` says that it is still needed. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace tutti::device::cpu {

class Ticker {
 public:
  static constexpr uint64_t kTickNs = 500'000;

  // `tick(now_ns)` runs on the ticker's thread.
  explicit Ticker(std::function<bool(uint64_t)> tick);
  ~Ticker();

  void Arm() {
    if (armed_.load(std::memory_order_relaxed) == 0) ArmSlow();
  }

 private:
  void ArmSlow();
  void Loop();

  std::function<bool(uint64_t)> tick_;
  std::atomic<uint32_t> armed_{0};  // futex
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tutti::device::cpu
