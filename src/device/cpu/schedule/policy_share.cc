// `share`, the default: weighted fair sharing by device time (fair_policy.h), the weights being the percentages.
//
// Clients below normal priority have what the normal ones leave: their blocks give way as soon as a normal client has
// something to run. Stream priorities order the work of one client, not that of different clients.
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class SharePolicy final : public FairPolicy {
  uint32_t WaitingLevel(const SpaceShare& share) const override { return share.band; }
  uint32_t RunningLevel(const Running& running) const override { return running.share->band; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewSharePolicy() { return std::make_unique<SharePolicy>(); }

}  // namespace tutti::device::cpu
