// The vectors, and their expected sum.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace vector_add {

inline constexpr uint32_t kCount = 1u << 20;
inline constexpr uint32_t kThreads = 256;
inline constexpr example::Options kDefaults{.rounds = 200, .blocks = 64};

inline std::vector<float> Input(uint32_t salt) {
  std::vector<float> values(kCount);
  for (uint32_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(example::Hash(i + salt) >> 8) / 65536.0f;
  return values;
}

inline uint64_t CountWrong(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += c[i] != a[i] + b[i];
  return wrong;
}

}  // namespace vector_add
