// The thread that preempts long blocks. It sleeps until the earliest time that somebody has asked for (Arm), then looks
// at all SMs, which yields the time of the next look. Thread-safe.
//
// No requested look is lost: a requester first changes what the look will see, then asks; the ticker first clears the
// requests, then looks. ticker_interleavings_test.cc runs this very code in every order of steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "os/futex.h"

namespace tutti::device::cpu {

// Whom a scheduler asks to be looked at (Scheduler::Tick). Thread-safe.
class LookTimer {
 public:
  // There will be a look at `at_ns`, or up to kMostLateNs later; kNever asks for none.
  virtual void Arm(uint64_t at_ns) = 0;

  static constexpr uint64_t kLeastPauseNs = 100'000;  // between two looks
  static constexpr uint64_t kMostLateNs = 200'000;  // rather than a wake-up per change

 protected:
  ~LookTimer() = default;
};

// The operating system under a Ticker; simulated in tests.
struct TickerSystem {
  template <typename T>
  using Atomic = std::atomic<T>;
  static uint64_t NowNs() { return tutti::NowNs(); }
  static void FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
    os::FutexWait(word, expected, timeout_ns);
  }
  static void FutexWake(const Atomic<uint32_t>* word) { os::FutexWake(word, 1); }
  static std::thread StartThread(std::function<void()> body);
};

template <typename System>
class BasicTicker final : public LookTimer {
 public:
  // `tick(now_ns)` runs on the ticker's thread; it returns when to look again, or kNever.
  explicit BasicTicker(std::function<uint64_t(uint64_t)> tick)
      : tick_(std::move(tick)), thread_(System::StartThread([this] { Loop(); })) {}
  ~BasicTicker() { Stop(); }
  // Returns when its thread has ended. Once.
  void Stop();

  // One load if there will be a look by then already.
  void Arm(uint64_t at_ns) override {
    if (at_ns < kNever - kMostLateNs && at_ns + kMostLateNs < look_at_ns_.load(std::memory_order_seq_cst))
      ArmSlow(at_ns);
  }

 private:
  template <typename T>
  using Atomic = typename System::template Atomic<T>;

  void ArmSlow(uint64_t at_ns);
  bool Lower(uint64_t at_ns);
  void Loop();

  std::function<uint64_t(uint64_t)> tick_;
  Atomic<uint64_t> look_at_ns_{kNever};
  Atomic<uint32_t> kick_{0};  // futex
  Atomic<bool> stopping_{false};
  decltype(System::StartThread({})) thread_;
};

template <typename System>
void BasicTicker<System>::Stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  ArmSlow(0);
  thread_.join();
}

template <typename System>
bool BasicTicker<System>::Lower(uint64_t at_ns) {
  uint64_t old_ns = look_at_ns_.load(std::memory_order_seq_cst);
  while (at_ns < old_ns) {
    if (look_at_ns_.compare_exchange_weak(old_ns, at_ns, std::memory_order_seq_cst)) return true;
  }
  return false;
}

template <typename System>
void BasicTicker<System>::ArmSlow(uint64_t at_ns) {
  if (!Lower(at_ns)) return;
  kick_.fetch_add(1, std::memory_order_seq_cst);
  System::FutexWake(&kick_);
}

template <typename System>
void BasicTicker<System>::Loop() {
  uint64_t looked_ns = 0;
  while (!stopping_.load(std::memory_order_seq_cst)) {
    const uint32_t kick = kick_.load(std::memory_order_seq_cst);
    const uint64_t asked_ns = look_at_ns_.load(std::memory_order_seq_cst);
    const uint64_t at_ns = std::max(asked_ns, looked_ns + kLeastPauseNs);
    const uint64_t now_ns = System::NowNs();
    if (now_ns < at_ns) {
      System::FutexWait(&kick_, kick, asked_ns == kNever ? 0 : at_ns - now_ns);
      continue;
    }
    // Clears the requests, then looks: a later request is seen.
    look_at_ns_.store(kNever, std::memory_order_seq_cst);
    looked_ns = now_ns;
    Lower(tick_(now_ns));
  }
}

extern template class BasicTicker<TickerSystem>;
using Ticker = BasicTicker<TickerSystem>;

}  // namespace tutti::device::cpu
