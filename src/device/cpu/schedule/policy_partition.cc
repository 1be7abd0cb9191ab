// `partition`: static partitions. Each client has the SMs of its partition and no others; an SM that its partition
// leaves idle is lent to nobody. Clients of one partition share its SMs equally: percentages do not hold here, as under
// NVIDIA's static partitioning. Whoever is below normal priority has what the others of the partition leave.
//
// Which SMs a partition has is the daemon's to say, and that they are disjoint (SpaceShare::sms holds under every
// policy). A device on which nobody has been given SMs is one partition.
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class PartitionPolicy final : public FairPolicy {
  bool uses_percentages() const override { return false; }
  uint32_t WaitingLevel(const SpaceShare& share) const override { return share.band; }
  uint32_t RunningLevel(const Running& running) const override { return running.share->band; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewPartitionPolicy() { return std::make_unique<PartitionPolicy>(); }

}  // namespace tutti::device::cpu
