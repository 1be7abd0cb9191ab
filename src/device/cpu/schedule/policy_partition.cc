// `partition`: static partitions. Each client has the SMs of its partition and no others; an SM that its partition
// leaves idle is not lent. Clients of one partition share its SMs equally: percentages do not hold here, as under
// NVIDIA's static partitioning. Clients below normal priority get what the others of the partition leave.
//
// The daemon decides which SMs a partition has, and keeps partitions disjoint (SpaceShare::sms holds under every
// policy). A device without assigned SMs is one partition.
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class PartitionPolicy final : public FairPolicy {
  using FairPolicy::FairPolicy;
  bool uses_percentages() const override { return false; }
  uint32_t WaitingLevel(const SpaceShare& share) const override { return share.band; }
  uint32_t RunningLevel(const Running& running) const override { return running.share->band; }
  uint32_t TaskLevels() const override { return kUrgencies; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewPartitionPolicy(uint32_t sms) { return std::make_unique<PartitionPolicy>(sms); }

}  // namespace tutti::device::cpu
