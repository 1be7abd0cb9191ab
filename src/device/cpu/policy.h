// Who is next: the choice among the Spaces that have blocks ready. One file per policy. All calls under the device's
// scheduler lock; none allocates in the steady state.
#pragma once

#include <cstdint>
#include <memory>

#include "device/cpu/space_share.h"
#include "device/device.h"

namespace tutti::device::cpu {

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;

  // The share has blocks ready and may have another SM; or no longer.
  virtual void Offer(SpaceShare* share) = 0;
  virtual void Withdraw(SpaceShare* share) = 0;
  // An offered share to take a chunk from now; null: the SM stays idle although shares are offered (or none is).
  virtual SpaceShare* Pick(uint64_t now_ns) = 0;
  // `ns` of device time were taken (or, negative, given back after an estimate).
  virtual void Charge(SpaceShare* share, int64_t ns) = 0;
  // A chunk of `share` has run for `ran_ns`: must it give way to the offered ones?
  virtual bool MustGiveWay(const SpaceShare& share, uint64_t ran_ns, uint64_t now_ns) const = 0;
  // Whether Pick would return something.
  virtual bool HasNext(uint64_t now_ns) const = 0;
  // The share is about to go away.
  virtual void Forget(SpaceShare* share) = 0;
};

std::unique_ptr<SchedulingPolicy> NewSharePolicy();
std::unique_ptr<SchedulingPolicy> NewTimeSlicePolicy();
std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy);

}  // namespace tutti::device::cpu
