#include "device/cpu/schedule/fair_policy.h"

#include <algorithm>
#include <bit>

namespace tutti::device::cpu {
namespace {

int64_t Weighted(int64_t ns, const SpaceShare& share) {
  return static_cast<int64_t>(static_cast<double>(ns) * 100 / share.weight);
}

uint64_t Until(uint64_t end, uint64_t now) { return end > now ? end - now : 0; }

uint32_t Eights(uint32_t sms) { return std::max(1u, sms / 8); }

}  // namespace

FairPolicy::FairPolicy(uint32_t sms) : most_claim_ns_(kMostClaimNs * Eights(sms)) {}

void FairPolicy::Offer(SpaceShare* share) {
  const uint64_t claim = Until(latest_, most_claim_ns_);
  if (share->virtual_ns < claim) share->virtual_ns = claim;
  const uint32_t level = WaitingLevel(*share);
  levels_ |= 1u << level;
  waiting_[level].Add(share);
}

void FairPolicy::Withdraw(SpaceShare* share) {
  const uint32_t level = WaitingLevel(*share);
  waiting_[level].Remove(share);
  if (waiting_[level].empty()) levels_ &= ~(1u << level);
}

SpaceShare* FairPolicy::First(uint32_t sm) const {
  for (uint32_t left = levels_; left != 0; left &= left - 1) {
    SpaceShare* const share =
        waiting_[std::countr_zero(left)].First([sm](const SpaceShare& one) { return one.MayTake(sm); });
    if (share != nullptr) return share;
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
  share->virtual_ns = virtual_ns;
  if (share->offered) waiting_[WaitingLevel(*share)].Moved(share);
}

uint64_t FairPolicy::GivesWayAtNs(const Running& running, uint64_t now_ns) const {
  const uint32_t level = RunningLevel(running);
  for (uint32_t left = levels_; left != 0; left &= left - 1) {
    const auto waiting_level = static_cast<uint32_t>(std::countr_zero(left));
    if (waiting_level > level) break;
    const SpaceShare* const share =
        waiting_[waiting_level].First([&](const SpaceShare& one) { return one.MayFollow(*running.share, running.sm); });
    if (share == nullptr) continue;
    if (waiting_level < level) return now_ns;
    if (share == running.share) return kNever;
    return now_ns + std::max(Until(kSliceNs, running.ran_ns), LeadLeftNs(running, *share));
  }
  return kNever;
}

bool FairPolicy::MoreUrgentWaits(const RunningLevels& running) const {
  if (levels_ == 0) return false;
  const uint32_t less_urgent = (static_cast<uint32_t>(std::countr_zero(levels_)) + 1) * TaskLevels();
  return less_urgent < running.size() &&
         std::any_of(running.begin() + less_urgent, running.end(), [](uint32_t sms) { return sms != 0; });
}

// How long it may still run until its share is too far ahead of the waiting one. What its other SMs have not been
// charged for is taken to be as much as what this one has not.
uint64_t FairPolicy::LeadLeftNs(const Running& running, const SpaceShare& waiting) {
  const SpaceShare& share = *running.share;
  const uint64_t many = Eights(share.running());
  const uint64_t uncharged_ns = Until(running.ran_ns, running.charged_ns) * many;
  const uint64_t clock = share.virtual_ns + static_cast<uint64_t>(Weighted(static_cast<int64_t>(uncharged_ns), share));
  const uint64_t left = Until(waiting.virtual_ns + kMostLeadNs * many, clock) / many;
  return static_cast<uint64_t>(static_cast<double>(left) * share.weight / 100);
}

}  // namespace tutti::device::cpu
