#include "device/cpu/schedule/policy.h"

namespace tutti::device::cpu {

std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy) {
  switch (policy) {
    case Policy::kShare: return NewSharePolicy();
    case Policy::kPriority: return NewPriorityPolicy();
    case Policy::kTimeSlice: return NewTimeSlicePolicy();
    case Policy::kPartition: return NewPartitionPolicy();
  }
  return NewSharePolicy();
}

}  // namespace tutti::device::cpu
