// How several divide SMs: weighted max-min fairness ("water-filling"). Nobody gets more than it can use, and what is
// left goes to the others by weight. Those who precede others are served first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "device/time_peers.h"

namespace tutti::device {

// SMs of `own.region`, or parts of them, for clients of weight `own.weight` that could use all of them, beside
// `others`. Whatever other servers' clients of the same band say, half of an equal part is left: of what those of bands
// before want no more. Those are believed, since any client may belong to them.
inline double FairPart(const TimeDemand& own, std::span<const TimeDemand> others) {
  constexpr double kLeast = 0.5;
  const auto sms = static_cast<double>(own.region.count());
  double room = sms;
  size_t servers = 0;
  uint32_t last_server = 0;
  for (const TimeDemand& other : others) {
    const double overlap = Overlap(other.region, own.region);
    if (overlap == 0) continue;
    if (other.band < own.band) room -= other.sms * overlap;
    if (other.band != own.band || (servers != 0 && other.server == last_server)) continue;
    ++servers;
    last_server = other.server;
  }
  room = std::max(room, 0.0);
  if (servers == 0 || own.weight <= 0) return room;
  // The level: SMs per weight at which all is given out. Those that want less than that count with what they want.
  double level = 0;
  for (size_t round = 0; round <= others.size(); ++round) {
    double left = room, weights = own.weight;
    for (const TimeDemand& other : others) {
      if (other.band != own.band) continue;
      const double overlap = Overlap(other.region, own.region);
      if (other.sms <= level * other.weight) {
        left -= other.sms * overlap;
      } else {
        weights += other.weight * overlap;
      }
    }
    const double next = std::max(left, 0.0) / weights;
    if (next <= level) break;
    level = next;
  }
  return std::clamp(level * own.weight, kLeast * room / static_cast<double>(servers + 1), room);
}

}  // namespace tutti::device
