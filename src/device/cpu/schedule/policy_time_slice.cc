// `time_slice`: what a GPU does with several processes and no MPS, and the baseline that sharing is measured against.
//
// One Space owns the whole device for a quantum of kQuantumNs; SMs that it does not fill stay idle. When the quantum is
// over and another Space waits, the owner's running blocks are preempted, and the next Space begins only when none runs
// any more. A Space that runs out of work ends its quantum early. Priorities have no effect here.
#include <algorithm>
#include <vector>

#include "device/cpu/schedule/policy.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kQuantumNs = 2'000'000;

class TimeSlicePolicy final : public SchedulingPolicy {
 public:
  void Offer(SpaceShare* share) override {
    share->offered_index = static_cast<uint32_t>(offered_.size());
    offered_.push_back(share);
  }

  void Withdraw(SpaceShare* share) override {
    SpaceShare* const last = offered_.back();
    offered_[share->offered_index] = last;
    last->offered_index = share->offered_index;
    offered_.pop_back();
  }

  SpaceShare* Pick(uint32_t sm, uint64_t now_ns) override {
    if (OwnerGoesOn(now_ns)) return owner_->offered && owner_->MayTake(sm) ? owner_ : nullptr;
    if (owner_ != nullptr && owner_->running() > 0) return nullptr;  // its last blocks are on their way out
    owner_ = LongestWaiting();
    if (owner_ == nullptr) return nullptr;
    owner_->virtual_ns = ++turn_;
    quantum_end_ns_ = now_ns + kQuantumNs;
    return owner_->MayTake(sm) ? owner_ : nullptr;
  }

  // Under this policy virtual_ns is the number of the Space's last turn.
  void Charge(SpaceShare*, int64_t) override {}

  uint64_t GivesWayAtNs(const Running& running, uint64_t now_ns) const override {
    if (running.share != owner_) return now_ns;
    return OthersWait() ? quantum_end_ns_ : kNever;
  }

  bool is_exclusive() const override { return true; }
  uint64_t turn() const override { return turn_; }

  // All is a matter of time.
  bool MoreUrgentWaits(const RunningLevels&) const override { return false; }

  bool HasNext(uint32_t sm, uint64_t now_ns) const override {
    if (OwnerGoesOn(now_ns)) return owner_->offered && owner_->MayTake(sm);
    return (owner_ == nullptr || owner_->running() == 0) && !offered_.empty();
  }

  // The owner's work is only for SMs that do not come. If some of it runs, the ticker sees to the end of its quantum.
  uint64_t PicksAgainAtNs(uint64_t now_ns) const override {
    return owner_ != nullptr && owner_->running() == 0 && OthersWait() && OwnerGoesOn(now_ns) ? quantum_end_ns_
                                                                                              : kNever;
  }

  void Forget(SpaceShare* share) override {
    if (owner_ == share) owner_ = nullptr;
  }

 private:
  bool OthersWait() const { return offered_.size() > (owner_ != nullptr && owner_->offered ? 1u : 0u); }

  bool OwnerGoesOn(uint64_t now_ns) const {
    if (owner_ == nullptr || (!owner_->offered && owner_->running() == 0)) return false;
    return now_ns < quantum_end_ns_ || !OthersWait();
  }

  SpaceShare* LongestWaiting() const {
    const auto least = std::min_element(offered_.begin(), offered_.end(), [](const SpaceShare* a, const SpaceShare* b) {
      return a->virtual_ns < b->virtual_ns;
    });
    return least == offered_.end() ? nullptr : *least;
  }

  std::vector<SpaceShare*> offered_;  // no order
  SpaceShare* owner_ = nullptr;
  uint64_t quantum_end_ns_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewTimeSlicePolicy() { return std::make_unique<TimeSlicePolicy>(); }

}  // namespace tutti::device::cpu
