// A policy chooses among the Spaces that have blocks ready. One file per policy. All calls under the device's scheduler
// lock; none allocates in the steady state.
//
// Caps, SM ranges and other servers are not a policy's business: a share over its cap is not offered, and one that may
// not have an SM is not picked for it (every policy asks share->MayTake).
#pragma once

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
  // Whether Pick would return something.
  virtual bool HasNext(uint32_t sm, uint64_t now_ns) const = 0;
  // The share is about to be destroyed.
  virtual void Forget(SpaceShare* share) = 0;
  // Whether percentages hold under this policy.
  virtual bool uses_percentages() const { return true; }
};

std::unique_ptr<SchedulingPolicy> NewSharePolicy();
std::unique_ptr<SchedulingPolicy> NewPriorityPolicy();
std::unique_ptr<SchedulingPolicy> NewTimeSlicePolicy();
std::unique_ptr<SchedulingPolicy> NewPartitionPolicy();
std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy);

}  // namespace tutti::device::cpu
