// Beside other servers: this server's part of the device.
//
// Each server says what its clients want: their weights, and how many SMs they could use at once, on average over the
// last milliseconds. From what all say each server computes its own part (fair_part.h), and keeps to it like a client
// to its percentage: by a cap on SMs and their time. So nobody waits for anybody, and what one server does not want the
// others use. A server that says no more, since it is idle or has ended, is forgotten soon.
#include <algorithm>
#include <array>

#include "device/common/fair_part.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPeriodNs = 5'000'000;
constexpr uint64_t kHeardForNs = 4 * kPeriodNs;
constexpr size_t kMostPeers = 256;

}  // namespace

void Scheduler::SetPeers(TimePeers* peers) {
  {
    std::lock_guard lock(mutex_);
    peers_ = sms() <= cores_ ? peers : nullptr;
    shares_cores_.store(peers_ != nullptr, std::memory_order_relaxed);
    part_.Change(sms(), sms(), clock_());
    demand_ns_ = 0;
    adjusted_at_ns_ = demand_at_ns_ = clock_();
  }
  gate_.Advance();
  gate_.WakeAll();
}

// Whether an SM may take something, as far as the other servers are concerned.
bool Scheduler::HasPart(uint64_t now_ns) {
  if (peers_ == nullptr) return true;
  NoteDemand(now_ns);
  if (part_.throttled() && now_ns >= part_.throttled_until_ns()) part_.Resume(now_ns);
  return part_.open();
}

// Before and after what changes it.
void Scheduler::NoteDemand(uint64_t now_ns) {
  if (peers_ == nullptr) return;
  if (now_ns > demand_at_ns_) demand_ns_ += demand_sms_ * static_cast<double>(now_ns - demand_at_ns_);
  demand_at_ns_ = std::max(demand_at_ns_, now_ns);
  demand_sms_ = offered_ != 0 ? UsableSms() : static_cast<double>(busy_.load(std::memory_order_relaxed));
  if (now_ns >= adjusted_at_ns_ + kPeriodNs) AdjustPart(now_ns);
}

// By what is running or waits, as far as limits let it.
double Scheduler::UsableSms() const {
  double usable = 0;
  for (const SpaceShare* share : shares_) {
    if (share->unfinished == 0) continue;
    const double bound = static_cast<double>(std::min<size_t>(share->sms.count(), sms()));
    usable += std::min(bound, share->weight / 100 * sms());
  }
  return std::min<double>(usable, sms());
}

void Scheduler::AdjustPart(uint64_t now_ns) {
  TimeDemand own{.sms = demand_ns_ / static_cast<double>(now_ns - adjusted_at_ns_)};
  for (SpaceShare* share : shares_) {
    if (share->unfinished != 0 || share->worked) own.weight += share->weight;
    share->worked = false;
  }
  demand_ns_ = 0;
  adjusted_at_ns_ = now_ns;
  peers_->Say(own, now_ns + kHeardForNs);
  std::array<TimeDemand, kMostPeers> room;
  const size_t others = peers_->Hear(room, now_ns);
  part_.Change(FairPart(own.weight, std::span(room).first(others), sms()), sms(), now_ns);
}

}  // namespace tutti::device::cpu
