// What all workers share: the rings to poll while idle, and how many may spin.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.h"

namespace tutti::device::cpu {

struct IdleShared {
  Backend::IdleWork work;             // constant once workers run
  std::atomic<bool> has_work{false};  // `work` is set (release; workers acquire)
  uint32_t most_spinners = 1;
  std::atomic<uint32_t> spinners{0};
};

}  // namespace tutti::device::cpu
