// The bytes, and how often each value occurs in them.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace histogram {

inline constexpr uint32_t kCount = 1u << 18;  // words of four bytes
inline constexpr uint32_t kBins = 256;
inline constexpr uint32_t kThreads = 256;
inline constexpr example::Options kDefaults{.rounds = 50, .blocks = 32};

inline std::vector<uint32_t> Input() {
  std::vector<uint32_t> words(kCount);
  for (uint32_t i = 0; i < kCount; ++i) words[i] = example::Hash(i) & example::Hash(i ^ 0x5bd1e995u);  // not uniform
  return words;
}

inline uint64_t CountWrong(const std::vector<uint32_t>& words, const std::vector<uint32_t>& bins, uint32_t rounds) {
  std::vector<uint32_t> expected(kBins);
  for (const uint32_t word : words) {
    for (uint32_t shift = 0; shift < 32; shift += 8) expected[(word >> shift) & 255] += rounds;
  }
  uint64_t wrong = 0;
  for (uint32_t bin = 0; bin < kBins; ++bin) wrong += bins[bin] != expected[bin];
  return wrong;
}

}  // namespace histogram
