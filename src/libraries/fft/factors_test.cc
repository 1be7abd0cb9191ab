#include "libraries/fft/factors.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace tutti::fft {
namespace {

TEST(FftFactorsTest, RadicesMultiplyToTheSizeOrThereAreNone) {
  for (uint64_t n = 1; n < 20000; ++n) {
    const std::vector<unsigned> radices = Radices(n);
    const uint64_t product = std::accumulate(radices.begin(), radices.end(), uint64_t{1}, std::multiplies<>());
    EXPECT_EQ(product, HasPasses(n) ? n : 1) << n;
  }
  EXPECT_FALSE(HasPasses(0));
  EXPECT_FALSE(HasPasses(17));
  EXPECT_TRUE(HasPasses(uint64_t{1} << 40));
}

TEST(FftFactorsTest, DivisionsByMultiplicationAreExact) {
  constexpr unsigned kMost = 0x7fffffff;
  const auto divide = [](unsigned n, const Divisor& by) {
    return static_cast<unsigned>(uint64_t{n} * by.factor >> by.shift);
  };
  for (const unsigned divisor :
       {1u, 2u, 3u, 5u, 7u, 31u, 32u, 33u, 1000u, 65535u, 65537u, 0x3fffffffu, 0x40000001u, kMost}) {
    const Divisor by = MakeDivisor(divisor);
    for (uint64_t quotient = 0; quotient * divisor <= kMost;
         quotient = quotient < 40 ? quotient + 1 : quotient * 2 - 3) {
      const auto n = static_cast<unsigned>(quotient * divisor);
      EXPECT_EQ(divide(n, by), n / divisor) << n << " / " << divisor;
      EXPECT_TRUE(n == 0 || divide(n - 1, by) == (n - 1) / divisor) << n - 1 << " / " << divisor;
    }
    EXPECT_EQ(divide(kMost, by), kMost / divisor);
  }
}

}  // namespace
}  // namespace tutti::fft
