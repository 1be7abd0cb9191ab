#include "device/common/cap.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace tutti::device {
namespace {

constexpr double kFewSms = 8;  // with fewer SMs fractions of an SM are held in time
constexpr double kLeastFraction = 1e-3;      // less is a whole number
constexpr double kMostIdleNs = 1'000'000;  // saved up by idling; what there was before goes as it idles
constexpr double kMostWaitingNs = 20'000'000;  // saved up while others had the SMs
constexpr double kMostLeftNs = 1e9;
constexpr double kQuantumNs = 250'000;  // budget needed to resume: no sleep per chunk

}  // namespace

void Cap::SetPart(double part_sms, uint32_t sms) {
  part_sms = std::clamp(part_sms, 0.0, static_cast<double>(sms));
  const double whole = std::floor(part_sms + kLeastFraction);
  const bool in_time = part_sms < kFewSms && part_sms - whole > kLeastFraction;
  max_sms_ = std::max(1u, static_cast<uint32_t>(in_time ? whole + 1 : whole));
  rate_ = in_time || whole < 1 ? std::max(part_sms, kLeastFraction) : 0;
}

void Cap::Set(double part_sms, uint32_t sms, uint64_t now_ns) {
  SetPart(part_sms, sms);
  budget_ns_ = 0;
  reckoned_at_ns_ = now_ns;
  throttled_ = false;
}

void Cap::Change(double part_sms, uint32_t sms, uint64_t now_ns) {
  Refill(now_ns, kMostWaitingNs);
  SetPart(part_sms, sms);
  throttled_ = throttled_ && rate_ > 0;
  if (throttled_) Throttle(now_ns);
}

void Cap::Throttle(uint64_t now_ns) {
  throttled_until_ns_ = now_ns + static_cast<uint64_t>(std::ceil(std::max(kQuantumNs - budget_ns_, 0.0) / rate_));
  throttled_ = true;
}

void Cap::Refill(uint64_t now_ns, double most_ns) {
  if (now_ns > reckoned_at_ns_) {
    budget_ns_ += static_cast<double>(now_ns - reckoned_at_ns_) * rate_;
    reckoned_at_ns_ = now_ns;
  }
  budget_ns_ = std::min(budget_ns_, most_ns);
}

void Cap::WorkCame(uint64_t now_ns) {
  if (rate_ <= 0 || now_ns <= reckoned_at_ns_) return;
  // A moment between two grids takes nothing of what was saved up before; a second of idling takes all of it.
  const auto idle_ns = static_cast<double>(now_ns - reckoned_at_ns_);
  const double kept_ns = budget_ns_ - idle_ns;
  Refill(now_ns, kMostIdleNs);
  budget_ns_ = std::max(budget_ns_, kept_ns);
}

bool Cap::Spend(uint64_t ran_ns, uint64_t now_ns) {
  if (rate_ <= 0) return false;
  budget_ns_ -= static_cast<double>(ran_ns);  // first: what was earned meanwhile must not be clamped
  Refill(now_ns, kMostWaitingNs);
  if (budget_ns_ > 0) return false;
  Throttle(now_ns);
  return true;
}

void Cap::GiveBack(uint64_t ns, uint64_t now_ns) {
  if (rate_ <= 0) return;
  budget_ns_ += static_cast<double>(ns);
  Refill(now_ns, kMostWaitingNs);
  if (throttled_) Throttle(now_ns);
}

uint64_t Cap::LeftNs(uint64_t ran_ns, uint64_t now_ns) const {
  if (rate_ <= 0) return kNever;
  const double earned = now_ns > reckoned_at_ns_ ? static_cast<double>(now_ns - reckoned_at_ns_) * rate_ : 0;
  const double left = budget_ns_ + earned - static_cast<double>(ran_ns);
  if (left <= 0) return 0;
  if (rate_ >= 1) return kNever;  // it earns as fast as one SM spends
  return static_cast<uint64_t>(std::min(left / (1 - rate_), kMostLeftNs));
}

void Cap::Resume(uint64_t now_ns) {
  throttled_ = false;
  Refill(now_ns, kMostWaitingNs);
}

}  // namespace tutti::device
