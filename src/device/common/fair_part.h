// How several divide SMs: weighted max-min fairness ("water-filling"). Nobody gets more than it can use, and what is
// left goes to the others by weight.
#pragma once

#include <algorithm>
#include <span>

#include "device/time_peers.h"

namespace tutti::device {

// SMs, or parts of them, for one of weight `weight` that could use all `sms`, beside `others`. Whatever these say, half
// of an equal part is left.
inline double FairPart(double weight, std::span<const TimeDemand> others, double sms) {
  constexpr double kLeast = 0.5;
  if (others.empty() || weight <= 0) return sms;
  // The level: SMs per weight at which all is given out. Those that want less than that count with what they want.
  double level = 0;
  for (size_t round = 0; round <= others.size(); ++round) {
    double left = sms, weights = weight;
    for (const TimeDemand& other : others) {
      if (other.sms <= level * other.weight) {
        left -= other.sms;
      } else {
        weights += other.weight;
      }
    }
    const double next = std::max(left, 0.0) / weights;
    if (next <= level) break;
    level = next;
  }
  const double equal = sms / static_cast<double>(others.size() + 1);
  return std::clamp(level * weight, kLeast * equal, sms);
}

}  // namespace tutti::device
