// The picture, and its expected pixels.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../common/options.h"

namespace mandelbrot {

inline constexpr uint32_t kWidth = 512, kHeight = 512;
inline constexpr uint32_t kThreads = 128;
inline constexpr uint32_t kIterations = 256;
inline constexpr example::Options kDefaults{.rounds = 20, .blocks = 128};

inline uint32_t Iterations(uint32_t i) {
  const float c_re = std::fma(static_cast<float>(i % kWidth), 3.0f / 512.0f, -2.25f);
  const float c_im = std::fma(static_cast<float>(i / kWidth), 2.5f / 512.0f, -1.25f);
  float re = 0, im = 0;
  for (uint32_t n = 0; n < kIterations; ++n) {
    const float square = im * im;
    if (std::fma(re, re, square) > 4.0f) return n;
    const float next = std::fma(re, re, -square) + c_re;
    im = std::fma(re + re, im, c_im);
    re = next;
  }
  return kIterations;
}

inline uint64_t CountWrong(const std::vector<uint32_t>& counts) {
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < counts.size(); ++i) wrong += counts[i] != Iterations(i);
  return wrong;
}

}  // namespace mandelbrot
