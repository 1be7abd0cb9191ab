// The inputs of the six kernels, the same for every implementation, and their sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "../../examples/common/options.h"

namespace bench::problem {

inline constexpr uint32_t kSaxpyCount = 1u << 22;
inline constexpr uint32_t kReductionCount = 1u << 21;  // values, 256 per block
inline constexpr uint32_t kGemmSize = 512;
inline constexpr uint32_t kMandelbrotSize = 1024;
inline constexpr uint32_t kBodies = 4096;
inline constexpr uint32_t kRows = 1u << 16, kPerRow = 16;  // on average

inline float Unit(uint32_t i) { return static_cast<float>(example::Hash(i) >> 8) / 16777216.0f; }

inline std::vector<float> Floats(size_t count, uint32_t salt = 0) {
  std::vector<float> values(count);
  for (uint32_t i = 0; i < count; ++i) values[i] = Unit(i + salt) - 0.5f;
  return values;
}

struct Sparse {
  std::vector<uint32_t> starts, columns;
  std::vector<float> values;
};
inline Sparse Matrix() {
  Sparse matrix;
  matrix.starts.push_back(0);
  for (uint32_t row = 0; row < kRows; ++row) {
    const uint32_t entries = kPerRow / 2 + example::Hash(row) % kPerRow;
    for (uint32_t i = 0; i < entries; ++i) {
      matrix.columns.push_back(example::Hash(row * 31 + i) % kRows);
      matrix.values.push_back(Unit(row + i) - 0.5f);
    }
    matrix.starts.push_back(static_cast<uint32_t>(matrix.columns.size()));
  }
  return matrix;
}

}  // namespace bench::problem
