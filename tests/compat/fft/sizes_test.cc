#include "driver/fixture.h"
#include "fft/cufft.h"
#include "fft/transform.h"

namespace tutti::compat::fft {
namespace {

class FftSizesTest : public DriverTest {
 protected:
  // Both directions, in place and not.
  static void ExpectRight(int type, const std::vector<int>& n, int batch) {
    for (const bool is_in_place : {false, true}) {
      for (const bool is_inverse : {false, true}) {
        if (is_inverse && type != kC2C && type != kZ2Z) continue;
        const Transform transform{type, n, batch, is_in_place, is_inverse, {}, {}};
        EXPECT_LT(ErrorOf(transform), ToleranceOf(type)) << transform.Text();
      }
    }
  }
};

constexpr int kSingle[] = {kC2C, kR2C, kC2R}, kDouble[] = {kZ2Z, kD2Z, kZ2D};

TEST_F(FftSizesTest, SmallSizesInSinglePrecisionAreFftws) {
  for (const int type : kSingle) {
    for (int n = 1; n <= 130; ++n) ExpectRight(type, {n}, n % 3 == 0 ? 1 : 1 + n % 40);
  }
}

TEST_F(FftSizesTest, SmallSizesInDoublePrecisionAreFftws) {
  for (const int type : kDouble) {
    for (int n = 1; n <= 70; ++n) ExpectRight(type, {n}, n % 3 == 0 ? 1 : 1 + n % 40);
  }
}

// Powers of two, products of all radices, primes, products of large primes.
TEST_F(FftSizesTest, LargeSizesAreFftws) {
  for (const int n : {256, 512, 1000, 1024, 2048, 4096, 8192, 1 << 16, 3 * 5 * 7 * 11 * 13, 2187, 1021, 10007, 9409,
                      2 * 8191, 1 << 20}) {
    for (const int type : kSingle) ExpectRight(type, {n}, n < 5000 ? 9 : 1);
    if (n < 1 << 20) ExpectRight(kZ2Z, {n}, 1);
  }
}

TEST_F(FftSizesTest, PlanesAndBoxesAreFftws) {
  const std::vector<std::vector<int>> shapes{{2, 2},    {1, 5},      {5, 1},     {16, 16},   {7, 6},      {30, 31},
                                             {31, 30},  {64, 96},    {100, 100}, {17, 34},   {2, 3, 4},   {8, 8, 8},
                                             {5, 7, 9}, {17, 2, 19}, {1, 1, 1},  {40, 1, 3}, {32, 64, 16}};
  for (const auto& n : shapes) {
    for (const int type : kSingle) {
      ExpectRight(type, n, 1);
      ExpectRight(type, n, 3);
    }
    for (const int type : kDouble) ExpectRight(type, n, 2);
  }
}

TEST_F(FftSizesTest, ManySmallTransformsAreFftws) {
  for (const int type : kSingle) {
    for (const int n : {4, 6, 16, 29, 64, 100}) ExpectRight(type, {n}, 3000);
  }
}

}  // namespace
}  // namespace tutti::compat::fft
