// The bodies, and their expected accelerations. The device uses an approximate reciprocal square root, so results agree
// to a relative 1e-4 of the largest acceleration, not to the bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace n_body {

struct Vec4 {
  float x, y, z, w;
};

inline constexpr uint32_t kCount = 2048;
inline constexpr uint32_t kThreads = 256;
inline constexpr example::Options kDefaults{.rounds = 20, .blocks = 8};

inline std::vector<Vec4> Input() {
  const auto unit = [](uint32_t i) { return static_cast<float>(example::Hash(i) >> 8) / 16777216.0f; };
  std::vector<Vec4> bodies(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    bodies[i] = {unit(4 * i), unit(4 * i + 1), unit(4 * i + 2), unit(4 * i + 3) + 0.1f};
  return bodies;
}

inline uint64_t CountWrong(const std::vector<Vec4>& bodies, const std::vector<Vec4>& accelerations) {
  std::vector<Vec4> expected(kCount);
  double largest = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    double ax = 0, ay = 0, az = 0;
    for (uint32_t j = 0; j < kCount; ++j) {
      const double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y, dz = bodies[j].z - bodies[i].z;
      const double inverse = 1.0 / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-4);
      const double pull = bodies[j].w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    expected[i] = {static_cast<float>(ax), static_cast<float>(ay), static_cast<float>(az), 0};
    largest = std::max({largest, std::fabs(ax), std::fabs(ay), std::fabs(az)});
  }
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const double off =
        std::max({std::fabs(expected[i].x - accelerations[i].x), std::fabs(expected[i].y - accelerations[i].y),
                  std::fabs(expected[i].z - accelerations[i].z)});
    wrong += !(off <= 1e-4 * largest);
  }
  return wrong;
}

}  // namespace n_body
