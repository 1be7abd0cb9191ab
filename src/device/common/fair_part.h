// How several divide SMs: weighted max-min fairness ("water-filling"). Nobody gets more than it can use, and what is
// left goes to the others by weight. Those who precede others are served first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "device/time_peers.h"

namespace tutti::device {

// SMs of `own.region`, or parts of them, for clients of weight `own.weight` that could use all of them, beside
// `others`, of whom kMostRivals count. Whatever other servers' clients of the same band say, half of an equal part is
// left: of what those of bands before want no more. Those are believed, since any client may belong to them. Takes
// n log n steps for n others, who may say what makes it slow.
inline double FairPart(const TimeDemand& own, std::span<const TimeDemand> others) {
  constexpr double kLeast = 0.5;
  constexpr size_t kMostRivals = 512;
  struct Rival {
    double sms, weight;
    double SmsPerWeight() const { return weight > 0 ? sms / weight : std::numeric_limits<double>::infinity(); }
  };
  std::array<Rival, kMostRivals> rivals;
  size_t count = 0, servers = 0;
  uint32_t last_server = 0;
  double room = static_cast<double>(own.region.count()), weights = own.weight;
  for (const TimeDemand& other : others) {
    const double overlap = Overlap(other.region, own.region);
    if (overlap == 0) continue;
    if (other.band < own.band) room -= other.sms * overlap;
    if (other.band != own.band || count == kMostRivals) continue;
    rivals[count++] = {.sms = other.sms * overlap, .weight = other.weight * overlap};
    weights += other.weight * overlap;
    if (servers != 0 && other.server == last_server) continue;
    ++servers;
    last_server = other.server;
  }
  room = std::max(room, 0.0);
  if (servers == 0 || own.weight <= 0) return room;
  // The level: SMs per weight at which all is given out. Those that want less than that have what they want.
  std::sort(rivals.begin(), rivals.begin() + count,
            [](const Rival& a, const Rival& b) { return a.SmsPerWeight() < b.SmsPerWeight(); });
  double left = room;
  for (size_t i = 0; i < count && rivals[i].SmsPerWeight() <= left / weights; ++i) {
    left = std::max(left - rivals[i].sms, 0.0);
    weights = std::max(weights - rivals[i].weight, own.weight);
  }
  return std::clamp(left / weights * own.weight, kLeast * room / static_cast<double>(servers + 1), room);
}

}  // namespace tutti::device
