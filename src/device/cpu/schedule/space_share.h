// One Space's part of one device, as the scheduler sees it: what is ready, what it has used, what it may use. Guarded
// by the device's scheduler lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/common/cap.h"
#include "device/cpu/schedule/peer_group.h"
#include "device/cpu/schedule/task.h"
#include "device/device.h"
#include "metrics/client_counters.h"

namespace tutti::device::cpu {

class CpuSpace;

// Client priorities: each has a band of levels for its streams' priorities, so that everything of a normal client
// precedes everything of one below normal. Level 0 is the most urgent.
inline constexpr uint32_t kBands = 2;
inline constexpr uint32_t kLevels = kBands * kUrgencies;

// A context with a cap of its own (per-context percentage, execution affinity, green context).
struct ContextCap {
  SpaceShare* share = nullptr;
  uint32_t context = 0;
  Cap cap;
  TaskQueue held;  // ready, but over the cap
};

struct SpaceShare {
  CpuSpace* space = nullptr;
  metrics::ClientCounters* counters = nullptr;  // null in tests of the scheduler

  // Limits.
  double weight = 100;  // of its virtual time
  uint32_t band = 0;    // 0: normal
  Cap cap;
  SmSet sms = SmSet().set();  // SMs that it may use
  std::vector<std::unique_ptr<ContextCap>> contexts;
  uint64_t kernel_limit_ns = 0;  // that a kernel may run; 0: for ever
  double percentage = 100;       // as set

  // Use.
  PeerGroup* group = nullptr;   // while there are other servers
  double usable_sms = 0;        // that it counts for there: not 0 while it has work
  bool worked = false;          // has had work since the parts were last adjusted
  uint64_t virtual_ns = 0;      // device time taken, weighted; what exactly is the policy's business
  uint64_t active_at_ns = 0;    // since when something is ready or runs; 0: nothing is
  uint32_t unfinished = 0;      // tasks ready or running

  uint32_t running_urgencies[kUrgencies] = {};  // SMs by urgency of the task, like RunningLevels
  uint32_t batches = 0;  // SMs that have been given more than a piece of its tasks
  uint32_t open_batches = 0;  // of these, those that others may take from

  // What is ready.
  TaskQueue queues[kUrgencies];
  uint32_t queued_mask = 0;  // urgencies that have tasks
  uint32_t queued_transfers[kUrgencies] = {};  // tasks of these that are no kernels
  uint32_t held_up[kUrgencies] = {};  // tasks of these that have begun, and that no SM runs
  TaskQueue parked;  // tasks that only wait, set aside where SMs share cores
  bool offered = false;  // the policy may pick it
  uint32_t level = 0;        // at which it is offered: of its most urgent task
  bool dead = false;         // failed, or going away: nothing more is begun
  uint32_t offered_index = 0;  // the policy's own

  // Whether it may have `sm`, offered as it is.
  bool MayTake(uint32_t sm) const { return sms.test(sm) && (group == nullptr || group->open()); }
  // Whether it might have the SM on which `running` is, if that gave way.
  bool MayFollow(const SpaceShare& running, uint32_t sm) const {
    return sms.test(sm) && (group == nullptr || group == running.group || group->open());
  }
  uint32_t running() const { return cap.running(); }  // SMs that work for it, or are about to report a result
  // For counters that only the scheduler updates.
  void Count(metrics::Counter counter, uint64_t amount = 1) const {
    if (counters != nullptr) counters->AddAlone(counter, amount);
  }
};

// How long the task's kernel may run; 0: for ever. Limits are meant for optimised code. Quick code takes some 30 times
// as long, and blocks that have begun in it end in it: so its kernels have more, but no more than a minute.
inline uint64_t KernelLimitNs(const Task& task) {
  constexpr uint64_t kTimesMore = 31, kMostMoreNs = 60'000'000'000;
  const uint64_t limit_ns = task.is_kernel ? task.share->kernel_limit_ns : 0;
  return task.is_quick ? limit_ns + std::min(kTimesMore * std::min(limit_ns, kMostMoreNs), kMostMoreNs) : limit_ns;
}

}  // namespace tutti::device::cpu
