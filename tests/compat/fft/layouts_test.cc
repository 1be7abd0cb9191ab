#include "driver/fixture.h"
#include "fft/cufft.h"
#include "fft/transform.h"

namespace tutti::compat::fft {
namespace {

class FftLayoutsTest : public DriverTest {
 protected:
  static void ExpectRight(const Transform& transform) {
    EXPECT_LT(ErrorOf(transform), ToleranceOf(transform.type)) << transform.Text();
  }
};

constexpr int kTypes[] = {kC2C, kR2C, kC2R, kZ2Z, kD2Z, kZ2D};

// Extents of the memory of one side: `more` beyond what the transform has.
std::vector<int> Embed(std::vector<int> n, bool is_half, int more) {
  if (is_half) n.back() = n.back() / 2 + 1;
  for (int& extent : n) extent += more;
  return n;
}
int Product(const std::vector<int>& extents) {
  int product = 1;
  for (const int extent : extents) product *= extent;
  return product;
}

TEST_F(FftLayoutsTest, GapsBetweenElementsRowsAndTransformsStay) {
  for (const int type : kTypes) {
    for (const auto& n : std::vector<std::vector<int>>{{8}, {9}, {100}, {6, 10}, {7, 5}, {4, 3, 6}, {3, 4, 5}, {37}}) {
      for (const auto& [in_stride, out_stride, more] : {std::tuple(1, 1, 3), {2, 3, 0}, {3, 1, 2}, {1, 2, 1}}) {
        const auto in = Embed(n, type == kC2R || type == kZ2D, more),
                   out = Embed(n, type == kR2C || type == kD2Z, more);
        ExpectRight({type, n, 5, false, false, Layout{in, in_stride, Product(in) * in_stride + 4},
                     Layout{out, out_stride, Product(out) * out_stride + 3}});
      }
    }
  }
}

// Out of place, rows that have room for their spectrum keep what is behind their numbers.
TEST_F(FftLayoutsTest, PaddingOfRealRowsStays) {
  for (const int type : {kC2R, kZ2D}) {
    for (const auto& n : std::vector<std::vector<int>>{{9}, {10, 37}, {6, 8}, {3, 4, 5}}) {
      const std::vector<int> in = Embed(n, true, 0);
      std::vector<int> out = n;
      out.back() = 2 * in.back();
      ExpectRight({type, n, 2, false, false, Layout{in, 1, Product(in)}, Layout{out, 1, Product(out)}});
    }
  }
}

// Columns of a matrix: the transforms lie beside each other, element by element.
TEST_F(FftLayoutsTest, ColumnsAreTransformed) {
  for (const int type : kTypes) {
    for (const int n : {16, 15, 64, 23}) {
      for (const int batch : {3, 40}) {
        for (const bool is_in_place : {false, true}) {
          if (is_in_place && type != kC2C && type != kZ2Z) continue;
          const Layout columns{{n}, batch, 1};
          ExpectRight({type, {n}, batch, is_in_place, is_in_place, columns, columns});
        }
      }
    }
  }
}

TEST_F(FftLayoutsTest, RowsBecomeColumnsAndBack) {
  for (const int n : {1, 12, 128}) {
    const int batch = 50;
    const Layout rows{{n}, 1, n}, columns{{n}, batch, 1};
    ExpectRight({kC2C, {n}, batch, false, false, rows, columns});
    ExpectRight({kC2C, {n}, batch, false, true, columns, rows});
    ExpectRight({kZ2Z, {n}, batch, true, true, columns, rows});
  }
}

// Windows of a signal: inputs that share elements.
TEST_F(FftLayoutsTest, InputsMayOverlap) {
  const Layout windows{{64}, 1, 16}, spectra{{33}, 1, 33};
  // The reference would need the same memory twice: a constant signal needs none of that.
  Handle plan = 0;
  int n = 64;
  ASSERT_EQ(cufftPlanMany(&plan, 1, &n, &n, windows.stride, windows.dist, &n, spectra.stride, spectra.dist, kR2C, 10),
            kSuccess);
  std::vector<float> signal(64 + 9 * 16, 1.0f);
  const CUdeviceptr in = Allocate(signal.size() * 4), out = Allocate(10 * 33 * 8);
  CU_ASSERT(cuMemcpyHtoD_v2(in, signal.data(), signal.size() * 4));
  ASSERT_EQ(cufftExecR2C(plan, reinterpret_cast<void*>(in), reinterpret_cast<void*>(out)), kSuccess);
  CU_ASSERT(cuCtxSynchronize());
  std::vector<float> spectrum(10 * 33 * 2);
  CU_ASSERT(cuMemcpyDtoH_v2(spectrum.data(), out, spectrum.size() * 4));
  for (size_t i = 0; i < spectrum.size(); ++i) EXPECT_FLOAT_EQ(spectrum[i], i % 66 == 0 ? 64.0f : 0.0f) << i;
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

}  // namespace
}  // namespace tutti::compat::fft
