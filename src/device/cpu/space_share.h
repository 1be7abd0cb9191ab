// One Space's part of one device, as the scheduler sees it: what it has ready, what it has used, what it may use.
// Guarded by the device's scheduler lock.
#pragma once

#include <cstdint>

#include "device/cpu/task.h"

namespace tutti::device::cpu {

class CpuSpace;

// CUDA's stream priorities 0 (least) to -5 (most urgent), as queue indexes 5 to 0.
inline constexpr uint32_t kUrgencies = 6;

struct SpaceShare {
  CpuSpace* space = nullptr;

  // Limits.
  double weight = 100;     // of its virtual time
  uint32_t max_sms = ~0u;  // it may have at once
  double time_rate = 0;    // > 0: only this part of one SM's time

  // Use.
  uint32_t running = 0;       // SMs that work for it, or are about to tell it of their result
  uint64_t virtual_ns = 0;    // device time taken, weighted
  double budget_ns = 0;       // with a time rate: device time it may take now
  uint64_t budget_at_ns = 0;  // when that was reckoned

  // What is ready.
  TaskQueue queues[kUrgencies];
  uint32_t queued_mask = 0;  // urgencies that have tasks
  bool offered = false;      // the policy may pick it
  bool throttled = false;    // in the scheduler's list of shares that wait for budget
  uint64_t throttled_until_ns = 0;
  bool dead = false;           // failed, or going away: nothing more is begun
  uint32_t offered_index = 0;  // the policy's own
};

}  // namespace tutti::device::cpu
