// A policy chooses among the Spaces that have blocks ready. One file per policy. All calls under the device's scheduler
// lock; none allocates in the steady state.
//
// Caps, SM ranges and other servers are not a policy's business: a share over its cap is not offered, and one that may
// not have an SM is not picked for it (every policy asks share->MayTake).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "device/cpu/schedule/space_share.h"
#include "device/device.h"

namespace tutti::device::cpu {

// What an SM runs now.
struct Running {
  const SpaceShare* share;
  uint32_t level;  // of its task
  uint32_t sm;
  uint64_t ran_ns;  // since its chunk began
  uint64_t charged_ns = 0;  // of that, in advance
};

// SMs with a task, by the task's level, but for those that have been told to stop.
using RunningLevels = std::array<uint32_t, kLevels>;

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;

  // The share has blocks ready, at share->level, and may use another SM; or no longer.
  virtual void Offer(SpaceShare* share) = 0;
  virtual void Withdraw(SpaceShare* share) = 0;
  // An offered share to take a chunk from now for `sm`; null: the SM stays idle although shares are offered (or none
  // is).
  virtual SpaceShare* Pick(uint32_t sm, uint64_t now_ns) = 0;
  // `ns` of device time were used (or, if negative, an estimate was too high).
  virtual void Charge(SpaceShare* share, int64_t ns) = 0;
  // When what runs must yield to what is offered, as of now: the time, at most now_ns if at once, or kNever.
  virtual uint64_t GivesWayAtNs(const Running& running, uint64_t now_ns) const = 0;
  bool MustGiveWay(const Running& running, uint64_t now_ns) const { return GivesWayAtNs(running, now_ns) <= now_ns; }
  // Whether something is offered for which something that runs must yield at once, whatever time has passed: no SM need
  // be looked at if not.
  virtual bool MoreUrgentWaits(const RunningLevels& running) const = 0;
  // Whether Pick would return something.
  virtual bool HasNext(uint32_t sm, uint64_t now_ns) const = 0;
  // While nothing of what it chooses among runs, and nothing else changes: when Pick may return something to an SM to
  // which it does not now, or kNever.
  virtual uint64_t PicksAgainAtNs(uint64_t) const { return kNever; }
  // The share is about to be destroyed.
  virtual void Forget(SpaceShare* share) = 0;
  // Whether one share has all SMs at a time.
  virtual bool is_exclusive() const { return false; }
  // The number of its turn. It begins inside Pick, and with it what was offered long before is for other SMs.
  virtual uint64_t turn() const { return 0; }
  // Whether percentages hold under this policy.
  virtual bool uses_percentages() const { return true; }
};

std::unique_ptr<SchedulingPolicy> NewSharePolicy(uint32_t sms);
std::unique_ptr<SchedulingPolicy> NewPriorityPolicy(uint32_t sms);
std::unique_ptr<SchedulingPolicy> NewTimeSlicePolicy();
std::unique_ptr<SchedulingPolicy> NewPartitionPolicy(uint32_t sms);
// For a device of so many SMs.
std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy, uint32_t sms);

}  // namespace tutti::device::cpu
