// The rod, and its expected temperatures after some steps.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace heat {

inline constexpr uint32_t kPointsPerRank = 1u << 14;
inline constexpr uint32_t kThreads = 256;
inline constexpr example::Options kDefaults{.rounds = 50, .blocks = 8};

// Temperature of point `i` at the start; both ends beyond the rod stay at 0.
inline float Start(uint64_t i) { return static_cast<float>(example::Hash(static_cast<uint32_t>(i)) >> 16) / 256.0f; }

// The whole rod after `steps`, on the host, with the device's order of operations.
inline std::vector<float> Expected(uint64_t points, uint32_t steps) {
  std::vector<float> now(points + 2, 0.0f), next(points + 2, 0.0f);
  for (uint64_t i = 1; i <= points; ++i) now[i] = Start(i);
  for (uint32_t step = 0; step < steps; ++step) {
    for (uint64_t i = 1; i <= points; ++i) next[i] = 0.25f * now[i - 1] + 0.5f * now[i] + 0.25f * now[i + 1];
    now.swap(next);
  }
  return now;
}

}  // namespace heat
