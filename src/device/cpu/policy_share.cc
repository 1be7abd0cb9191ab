// `share`: weighted fair sharing by device time.
//
// Every Space has a virtual clock that runs with the device time it takes, slower the larger its weight. The next SM
// goes to the Space whose clock is furthest behind. A Space that was idle does not collect a claim for that time: its
// clock is set to where the others are when it comes back. A chunk's estimated time is charged when it is given out and
// corrected when it is done, so that SMs that become free together do not all go to the same Space.
//
// Blocks that run long are made to give way after kSliceNs once a Space further behind waits, so the share holds for
// any block length.
#include <set>

#include "device/cpu/policy.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kSliceNs = 500'000;

struct FurtherBehind {
  bool operator()(const SpaceShare* a, const SpaceShare* b) const {
    return a->virtual_ns != b->virtual_ns ? a->virtual_ns < b->virtual_ns : a < b;
  }
};

class SharePolicy final : public SchedulingPolicy {
 public:
  void Offer(SpaceShare* share) override {
    if (share->virtual_ns < latest_) share->virtual_ns = latest_;
    if (spare_.empty()) {
      offered_.insert(share);
    } else {
      spare_.value() = share;
      offered_.insert(std::move(spare_));
    }
  }
  void Withdraw(SpaceShare* share) override { spare_ = offered_.extract(share); }

  SpaceShare* Pick(uint64_t) override {
    if (offered_.empty()) return nullptr;
    SpaceShare* const share = *offered_.begin();
    if (share->virtual_ns > latest_) latest_ = share->virtual_ns;
    return share;
  }

  void Charge(SpaceShare* share, int64_t ns) override {
    const auto weighted = static_cast<int64_t>(static_cast<double>(ns) * 100 / share->weight);
    auto node = share->offered ? offered_.extract(share) : decltype(offered_)::node_type();
    const auto now = static_cast<int64_t>(share->virtual_ns) + weighted;
    share->virtual_ns = now > 0 ? static_cast<uint64_t>(now) : 0;
    if (!node.empty()) offered_.insert(std::move(node));
  }

  bool MustGiveWay(const SpaceShare& share, uint64_t ran_ns, uint64_t) const override {
    if (ran_ns < kSliceNs || offered_.empty()) return false;
    const SpaceShare* const first = *offered_.begin();
    const auto clock = share.virtual_ns + static_cast<uint64_t>(static_cast<double>(ran_ns) * 100 / share.weight);
    return first != &share && first->virtual_ns < clock;
  }

  bool HasNext(uint64_t) const override { return !offered_.empty(); }
  void Forget(SpaceShare*) override {}

 private:
  std::set<SpaceShare*, FurtherBehind> offered_;
  decltype(offered_)::node_type spare_;  // saves the allocation of the next Offer
  uint64_t latest_ = 0;                  // the clock of whoever was picked last
};

}  // namespace

std::unique_ptr<SchedulingPolicy> NewSharePolicy() { return std::make_unique<SharePolicy>(); }

std::unique_ptr<SchedulingPolicy> NewPolicy(Policy policy) {
  return policy == Policy::kTimeSlice ? NewTimeSlicePolicy() : NewSharePolicy();
}

}  // namespace tutti::device::cpu
