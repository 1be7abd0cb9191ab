// matrix: products of 512 x 512 matrices by warp matrix instructions (wmma), beside the tiled SGEMM of the `kernels`
// benchmark, which has none. The elements are small integers, so that each type's result is exact and is compared.
#include <fmt/format.h>

#include <bit>

#include "driver.h"
#include "kernels/problems.h"
#include "median.h"
#include "report.h"

EMBED_TEXT(matrix_ptx, "kernels/matrix.ptx");
EMBED_TEXT(kernels_ptx, "kernels/kernels.ptx");

namespace {

using namespace bench;

constexpr uint32_t kSize = problem::kGemmSize, kTile = 64;

// -4 to 4.
std::vector<int> SmallIntegers(uint32_t salt) {
  std::vector<int> values(kSize * kSize);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(example::Hash(i + salt) % 9) - 4;
  return values;
}

std::vector<int> ProductOf(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> c(kSize * kSize);
  for (uint32_t i = 0; i < kSize; ++i) {
    for (uint32_t k = 0; k < kSize; ++k) {
      for (uint32_t j = 0; j < kSize; ++j) c[i * kSize + j] += a[i * kSize + k] * b[k * kSize + j];
    }
  }
  return c;
}

// Encodings of small integers.
uint16_t HalfOf(int value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (value == 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 127 + 15) << 10) | (bits >> 13 & 0x3ff));
}
uint16_t BrainOf(int value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16); }

template <typename T>
std::vector<T> Encode(const std::vector<int>& values, T (*encode)(int)) {
  std::vector<T> encoded;
  for (const int value : values) encoded.push_back(encode(value));
  return encoded;
}
template <typename T>
T Plain(int value) {
  return static_cast<T>(value);
}

struct Problem {
  std::vector<int> a, b, product;
};

// Time of one product in ms.
template <typename Element, typename Sum>
double Measure(const Problem& problem, const char* ptx, const char* kernel, uint32_t tile, uint32_t block_x,
               uint32_t block_y, Element (*encode)(int)) {
  const CUmodule module = LoadModule(ptx);
  const CUfunction function = GetFunction(module, kernel);
  const driver::Buffer<Element> a(Encode(problem.a, encode)), b(Encode(problem.b, encode));
  driver::Buffer<Sum> c(size_t{kSize} * kSize);
  const double ms = MedianMs([&] {
    Launch(function, kSize / tile, kSize / tile, block_x, block_y, nullptr, a.address(), b.address(), c.address(),
           kSize);
    CHECK_CU(cuCtxSynchronize());
  });
  const std::vector<Sum> got = c.Read();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == static_cast<Sum>(problem.product[i])) continue;
    fmt::print(stderr, "matrix: {}: result {} is {}, expected {}\n", kernel, i, got[i], problem.product[i]);
    std::exit(1);
  }
  CHECK_CU(cuModuleUnload(module));
  return ms;
}

template <typename Element, typename Sum>
double MeasureWmma(const Problem& problem, const char* kernel, Element (*encode)(int)) {
  return Measure<Element, Sum>(problem, matrix_ptx, kernel, kTile, 128, 1, encode);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  OpenDevice();
  Problem problem{SmallIntegers(0), SmallIntegers(7), {}};
  problem.product = ProductOf(problem.a, problem.b);
  const double scalar = Measure<float, float>(problem, kernels_ptx, "sgemm", 16, 16, 16, Plain<float>);
  Report report("matrix", "ratio: tiled SGEMM / ours (above 1: ours is faster); aim: at least 1, for f64 at least 0.5");
  const auto add = [&](const char* name, double ms) {
    report.Add({fmt::format("{}, {} cubed", name, kSize), ms, "ms", scalar, "tiled SGEMM, f32", scalar / ms});
  };
  add("wmma f16, sums f32", MeasureWmma<uint16_t, float>(problem, "product_f16", HalfOf));
  add("wmma bf16, sums f32", MeasureWmma<uint16_t, float>(problem, "product_bf16", BrainOf));
  add("wmma tf32", MeasureWmma<float, float>(problem, "product_tf32", Plain<float>));
  add("wmma f64", MeasureWmma<double, double>(problem, "product_f64", Plain<double>));
  add("wmma s8, sums s32", MeasureWmma<int8_t, int32_t>(problem, "product_s8", Plain<int8_t>));
  return report.Finish(out);
}
