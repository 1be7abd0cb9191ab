// The numbers, and their sum.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace reduction {

inline constexpr uint32_t kCount = 1u << 20;
inline constexpr uint32_t kThreads = 512;
inline constexpr example::Options kDefaults{.rounds = 200, .blocks = 32};

inline std::vector<uint32_t> Input() {
  std::vector<uint32_t> values(kCount);
  for (uint32_t i = 0; i < kCount; ++i) values[i] = example::Hash(i);
  return values;
}

inline uint32_t Sum(const std::vector<uint32_t>& values) {
  uint32_t sum = 0;
  for (const uint32_t value : values) sum += value;
  return sum;
}

}  // namespace reduction
