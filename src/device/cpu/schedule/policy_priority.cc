// `priority`: strict priority, over all clients.
//
// The level of a task is its client's band and, within that, its stream's priority: a stream of -5 precedes the default
// streams of all clients of its band, and the least urgent stream of a normal client precedes the most urgent one of a
// client below normal. Within a level time is shared as under `share`.
#include "device/cpu/schedule/fair_policy.h"

namespace tutti::device::cpu {
namespace {

class PriorityPolicy final : public FairPolicy {
  using FairPolicy::FairPolicy;
  uint32_t WaitingLevel(const SpaceShare& share) const override { return share.level; }
  uint32_t RunningLevel(const Running& running) const override { return running.level; }
  uint32_t TaskLevels() const override { return 1; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewPriorityPolicy(uint32_t sms) { return std::make_unique<PriorityPolicy>(sms); }

}  // namespace tutti::device::cpu
