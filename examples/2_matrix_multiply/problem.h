// The matrices, and their expected product, to the bit: the kernel fixes where it fuses and in which order it adds.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace matrix_multiply {

inline constexpr uint32_t kSize = 256;
inline constexpr example::Options kDefaults{.rounds = 20, .blocks = 256};

inline std::vector<float> Input(uint32_t salt) {
  std::vector<float> values(kSize * kSize);
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(example::Hash(i + salt) % 2048) / 1024.0f - 1.0f;
  return values;
}

inline uint64_t CountWrong(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  uint64_t wrong = 0;
  std::vector<float> row(kSize);
  for (uint32_t y = 0; y < kSize; ++y) {
    row.assign(kSize, 0.0f);
    for (uint32_t k = 0; k < kSize; ++k) {
      for (uint32_t x = 0; x < kSize; ++x) row[x] = std::fma(a[y * kSize + k], b[k * kSize + x], row[x]);
    }
    for (uint32_t x = 0; x < kSize; ++x) wrong += c[y * kSize + x] != row[x];
  }
  return wrong;
}

}  // namespace matrix_multiply
