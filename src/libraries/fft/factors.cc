#include "libraries/fft/factors.h"

#include <bit>

namespace tutti::fft {
namespace {

constexpr unsigned kOddRadices[] = {13, 11, 7, 5, 3};

// 2^log2 as radices: sixteens, and what is left of at most 8; 4 * 8 rather than 16 * 2.
void PowerOfTwo(unsigned log2, std::vector<unsigned>& radices) {
  while (log2 > 0) {
    const unsigned step = log2 == 5 ? 3 : log2 >= 4 ? 4 : log2;
    radices.push_back(1u << step);
    log2 -= step;
  }
}

}  // namespace

bool HasPasses(uint64_t n) {
  if (n == 0) return false;
  n >>= std::countr_zero(n);
  for (const unsigned radix : kOddRadices) {
    while (n % radix == 0) n /= radix;
  }
  return n == 1;
}

std::vector<unsigned> Radices(uint64_t n) {
  std::vector<unsigned> radices;
  if (!HasPasses(n)) return radices;
  const auto log2 = static_cast<unsigned>(std::countr_zero(n));
  PowerOfTwo(log2, radices);
  n >>= log2;
  for (const unsigned radix : kOddRadices) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  return radices;
}

// With 2^(l-1) < d <= 2^l and f = ceil(2^(31+l) / d), n f / 2^(31+l) exceeds n / d by less than n / 2^(31+l) < 1 / d.
Divisor MakeDivisor(unsigned divisor) {
  const int log2 = std::bit_width(divisor - 1);
  const uint64_t power = uint64_t{1} << (31 + log2);
  return {divisor, static_cast<unsigned>((power + divisor - 1) / divisor), 31 + log2};
}

}  // namespace tutti::fft
