#include "device/cpu/ticker.h"

#include <utility>

#include "base/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kSliceNs = 100'000;

}  // namespace

Ticker::Ticker(std::function<bool(uint64_t)> tick)
    : tick_(std::move(tick)), thread_(os::StartThread("tutti-tick", [this] { Loop(); })) {}

Ticker::~Ticker() {
  stopping_ = true;
  ArmSlow();
  thread_.join();
}

void Ticker::ArmSlow() {
  if (armed_.exchange(1) == 0) os::FutexWake(&armed_, 1);
}

void Ticker::Loop() {
  os::RequestTimeSlice(kSliceNs);
  while (!stopping_) {
    if (armed_.load() == 0) {
      os::FutexWait(&armed_, 0);
      continue;
    }
    const timespec pause{0, static_cast<long>(kTickNs)};
    nanosleep(&pause, nullptr);
    if (stopping_) break;
    if (tick_(NowNs())) continue;
    // Disarmed before the last look, so that whoever arms after it finds us disarmed and wakes us.
    armed_ = 0;
    if (tick_(NowNs())) armed_ = 1;
  }
}

}  // namespace tutti::device::cpu
