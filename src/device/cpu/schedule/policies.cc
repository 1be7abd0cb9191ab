#include "device/cpu/schedule/policy.h"

namespace tutti::device::cpu {

std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy, uint32_t sms) {
  switch (policy) {
    case Policy::kShare: return NewSharePolicy(sms);
    case Policy::kPriority: return NewPriorityPolicy(sms);
    case Policy::kTimeSlice: return NewTimeSlicePolicy();
    case Policy::kPartition: return NewPartitionPolicy(sms);
  }
  return NewSharePolicy(sms);
}

}  // namespace tutti::device::cpu
