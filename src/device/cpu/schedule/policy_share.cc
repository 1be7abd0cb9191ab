// `share`, the default: weighted fair sharing of device time (fair_policy.h); the weights are the percentages.
//
// Clients below normal priority get what the normal ones leave: their blocks are preempted as soon as a normal client
// has something to run. Stream priorities order the work of one client, not that of different clients.
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class SharePolicy final : public FairPolicy {
  using FairPolicy::FairPolicy;
  uint32_t WaitingLevel(const SpaceShare& share) const override { return share.band; }
  uint32_t RunningLevel(const Running& running) const override { return running.share->band; }
  uint32_t TaskLevels() const override { return kUrgencies; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewSharePolicy(uint32_t sms) { return std::make_unique<SharePolicy>(sms); }

}  // namespace tutti::device::cpu
