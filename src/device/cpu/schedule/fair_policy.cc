#include "device/cpu/schedule/fair_policy.h"

#include <algorithm>
#include <bit>

namespace tutti::device::cpu {
namespace {

int64_t Weighted(int64_t ns, const SpaceShare& share) {
  return static_cast<int64_t>(static_cast<double>(ns) * 100 / share.weight);
}

uint64_t Until(uint64_t end, uint64_t now) { return end > now ? end - now : 0; }

}  // namespace

// Where it is, or belongs.
FairPolicy::Waiting::iterator FairPolicy::PositionOf(Waiting& waiting, const SpaceShare* share) {
  return std::lower_bound(waiting.begin(), waiting.end(), share, FurtherBehind());
}

void FairPolicy::Offer(SpaceShare* share) {
  const uint64_t claim = latest_ > kMostClaimNs ? latest_ - kMostClaimNs : 0;
  if (share->virtual_ns < claim) share->virtual_ns = claim;
  const uint32_t level = WaitingLevel(*share);
  levels_ |= 1u << level;
  waiting_[level].insert(PositionOf(waiting_[level], share), share);
}

void FairPolicy::Withdraw(SpaceShare* share) {
  const uint32_t level = WaitingLevel(*share);
  waiting_[level].erase(PositionOf(waiting_[level], share));
  if (waiting_[level].empty()) levels_ &= ~(1u << level);
}

SpaceShare* FairPolicy::First(uint32_t sm) const {
  for (uint32_t left = levels_; left != 0; left &= left - 1) {
    for (SpaceShare* const share : waiting_[std::countr_zero(left)]) {
      if (share->MayTake(sm)) return share;
    }
  }
  return nullptr;
}

SpaceShare* FairPolicy::Pick(uint32_t sm, uint64_t) {
  SpaceShare* const share = First(sm);
  if (share != nullptr && share->virtual_ns > latest_) latest_ = share->virtual_ns;
  return share;
}

void FairPolicy::Charge(SpaceShare* share, int64_t ns) {
  const int64_t clock = static_cast<int64_t>(share->virtual_ns) + Weighted(ns, *share);
  const uint64_t virtual_ns = clock > 0 ? static_cast<uint64_t>(clock) : 0;
  if (!share->offered) {
    share->virtual_ns = virtual_ns;
    return;
  }
  Waiting& waiting = waiting_[WaitingLevel(*share)];
  const auto at = PositionOf(waiting, share);
  share->virtual_ns = virtual_ns;
  if (ns > 0) {
    std::rotate(at, at + 1, std::lower_bound(at + 1, waiting.end(), share, FurtherBehind()));
  } else {
    std::rotate(std::lower_bound(waiting.begin(), at, share, FurtherBehind()), at, at + 1);
  }
}

uint64_t FairPolicy::GivesWayAtNs(const Running& running, uint64_t now_ns) const {
  const uint32_t level = RunningLevel(running);
  for (uint32_t left = levels_; left != 0; left &= left - 1) {
    const auto waiting_level = static_cast<uint32_t>(std::countr_zero(left));
    if (waiting_level > level) break;
    for (const SpaceShare* const share : waiting_[waiting_level]) {
      if (!share->MayFollow(*running.share, running.sm)) continue;
      if (waiting_level < level) return now_ns;
      if (share == running.share) return kNever;
      return now_ns + std::max(Until(kSliceNs, running.ran_ns), LeadLeftNs(running, *share));
    }
  }
  return kNever;
}

// How long it may still run until it is kMostLeadNs ahead of the waiting share.
uint64_t FairPolicy::LeadLeftNs(const Running& running, const SpaceShare& waiting) {
  const SpaceShare& share = *running.share;
  const uint64_t uncharged_ns = Until(running.ran_ns, running.charged_ns);
  const uint64_t clock = share.virtual_ns + static_cast<uint64_t>(Weighted(static_cast<int64_t>(uncharged_ns), share));
  const uint64_t left = Until(waiting.virtual_ns + kMostLeadNs, clock);
  return static_cast<uint64_t>(static_cast<double>(left) * share.weight / 100);
}

}  // namespace tutti::device::cpu
