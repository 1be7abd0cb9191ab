#include "executor/event_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tutti::executor {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kBaseNs = 0.5e9;  // for which a base is one
constexpr double kLongNs = 10e9;  // without an event, so that no time that is measured now is short
constexpr double kCorrectedNs = 1e9, kMostCorrectionNs = 1e-4 * kCorrectedNs;

// By how much our clock knows better: an event is reached within what it has seen.
int64_t ErrorOf(uint64_t reached_ns, uint64_t recorded_ns, uint64_t seen_ns) {
  return static_cast<int64_t>(std::clamp(reached_ns, recorded_ns, std::max(recorded_ns, seen_ns)) - reached_ns);
}

}  // namespace

tutti::Result<cuda::CUevent> EventClock::Take() {
  cuda::CUevent event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
    return event;
  }
  TUTTI_TRY(vendor_.Check(vendor_.cuEventCreate(&event, 0), "cuEventCreate"));
  return event;
}

tutti::Result<double> EventClock::PassedNs(cuda::CUevent event) const {
  float ms = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuEventElapsedTime(&ms, base_, event), "cuEventElapsedTime"));
  return static_cast<double>(ms) * kNsPerMs;
}

tutti::Result<uint64_t> EventClock::Read(cuda::CUevent event, uint64_t recorded_ns, uint64_t seen_ns) {
  if (base_ == nullptr) {
    Rebase(event, seen_ns, 0);
    return seen_ns;
  }
  TUTTI_ASSIGN(const double passed_ns, PassedNs(event));
  // Whatever a driver says: a number that is none, or that is longer than a base can have been one, is no time.
  if (!(std::abs(passed_ns) <= static_cast<double>(base_ns_))) {
    Rebase(event, seen_ns, 0);
    return seen_ns;
  }
  const double corrected_ns = passed_ns + correction_ns_ * std::clamp(passed_ns / kCorrectedNs, 0.0, 1.0);
  uint64_t reached_ns = base_ns_ + static_cast<uint64_t>(std::llround(corrected_ns));
  if (std::abs(passed_ns) < kBaseNs) {
    GiveBack(event);
    return reached_ns;
  }
  int64_t error_ns = ErrorOf(reached_ns, recorded_ns, seen_ns);
  if (std::abs(passed_ns) >= kLongNs) reached_ns += static_cast<uint64_t>(std::exchange(error_ns, 0));
  Rebase(event, reached_ns, error_ns);
  return reached_ns;
}

void EventClock::Rebase(cuda::CUevent event, uint64_t reached_ns, int64_t error_ns) {
  if (base_ != nullptr) GiveBack(base_);
  base_ = event;
  base_ns_ = reached_ns;
  correction_ns_ = std::clamp(static_cast<double>(error_ns), -kMostCorrectionNs, kMostCorrectionNs);
}

Status EventClock::Close() {
  Status closed;
  if (base_ != nullptr) GiveBack(std::exchange(base_, nullptr));
  for (const cuda::CUevent event : std::exchange(free_, {})) {
    const Status destroyed = vendor_.Check(vendor_.cuEventDestroy_v2(event), "cuEventDestroy");
    if (closed) closed = destroyed;
  }
  return closed;
}

}  // namespace tutti::executor
