#include "device/gpu/time_gate.h"

#include <algorithm>

#include "base/clock.h"

namespace tutti::device::gpu {

bool TimeGate::Spend(uint64_t ran_ns, uint64_t now_ns) {
  without_end_ns_ += ran_ns;
  stalled_ns_ += ran_ns;
  const bool was_throttled = cap_.throttled();
  return cap_.Spend(ran_ns, now_ns) && !was_throttled;
}

void TimeGate::NoteDone(uint64_t computed) {
  if (computed == 0) return;
  stalled_ns_ = 0;
  constexpr double kNewest = 1.0 / 8;
  const double each_ns = static_cast<double>(without_end_ns_) / static_cast<double>(computed);
  record_ns_ = record_ns_ == 0 ? each_ns : record_ns_ + (each_ns - record_ns_) * kNewest;
  without_end_ns_ = 0;
}

void TimeGate::SetKernelLimit(uint64_t limit_ns) {
  stall_ns_ = limit_ns == 0 ? kStallNs : std::min(kStallNs, limit_ns / 2);
}

void TimeGate::Look(uint64_t now_ns) {
  if (cap_.throttled() && now_ns >= cap_.throttled_until_ns()) cap_.Resume(now_ns);
}

uint32_t TimeGate::most_ahead() const {
  if (yields() || cap_.throttled()) return 0;
  if (!limited()) return kMostAhead;
  if (record_ns_ == 0) return kLeastAhead;
  return static_cast<uint32_t>(std::clamp<double>(kAheadNs / record_ns_, kLeastAhead, kMostAhead));
}

uint64_t TimeGate::opens_at_ns() const { return cap_.throttled() ? cap_.throttled_until_ns() : kNever; }

}  // namespace tutti::device::gpu
