// What all workers share: the rings to poll while idle, and how many may spin.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.h"

namespace tutti::device::cpu {

struct IdleShared {
  // Whether nobody has polled for longer than kernels take that follow each other closely: a looker that has got work
  // comes back by then, unless that is long, or others have its core.
  bool IsUnwatched(uint64_t now_ns) const {
    constexpr uint64_t kLongNs = 3'000;
    const uint64_t polled = polled_ns.load(std::memory_order_relaxed);
    return most_lookers != 0 && now_ns > polled && now_ns - polled > kLongNs;
  }

  Backend::IdleWork work;  // constant once workers run
  std::atomic<bool> has_work{false};  // `work` is set (release; workers acquire)
  uint32_t most_lookers = 1;
  std::atomic<uint32_t> lookers{0};  // that spin and poll
  std::atomic<uint64_t> polled_ns{0};  // by any of these
  uint32_t most_drowsers = 0;
  std::atomic<uint32_t> drowsers{0};  // that spin until they are called
};

}  // namespace tutti::device::cpu
