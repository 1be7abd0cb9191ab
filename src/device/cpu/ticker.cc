#include "device/cpu/ticker.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kSliceNs = 100'000;

}  // namespace

Ticker::Ticker(std::function<uint64_t(uint64_t)> tick)
    : tick_(std::move(tick)), thread_(os::StartThread("tutti-tick", [this] { Loop(); })) {}

Ticker::~Ticker() {
  stopping_ = true;
  ArmSlow(0);
  thread_.join();
}

bool Ticker::Lower(uint64_t at_ns) {
  uint64_t old_ns = look_at_ns_.load(std::memory_order_seq_cst);
  while (at_ns < old_ns) {
    if (look_at_ns_.compare_exchange_weak(old_ns, at_ns, std::memory_order_seq_cst)) return true;
  }
  return false;
}

void Ticker::ArmSlow(uint64_t at_ns) {
  if (!Lower(at_ns)) return;
  kick_.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&kick_, 1);
}

void Ticker::Loop() {
  os::RequestTimeSlice(kSliceNs);
  uint64_t looked_ns = 0;
  while (!stopping_) {
    const uint32_t kick = kick_.load(std::memory_order_seq_cst);
    const uint64_t asked_ns = look_at_ns_.load(std::memory_order_seq_cst);
    const uint64_t at_ns = std::max(asked_ns, looked_ns + kLeastPauseNs);
    const uint64_t now_ns = NowNs();
    if (now_ns < at_ns) {
      os::FutexWait(&kick_, kick, asked_ns == kNever ? 0 : at_ns - now_ns);
      continue;
    }
    // Nothing is asked for any more, then the look: whoever asks after it is heard.
    look_at_ns_.store(kNever, std::memory_order_seq_cst);
    looked_ns = now_ns;
    Lower(tick_(now_ns));
  }
}

}  // namespace tutti::device::cpu
