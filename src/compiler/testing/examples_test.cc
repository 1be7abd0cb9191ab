// The demo's kernels, compiled and run block by block, against the same arithmetic on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

struct Variant {
  const char* cpu;
  bool any_block;  // compiled without knowing the block shape
};

class Examples : public testing::TestWithParam<Variant> {
 protected:
  void Run(const std::string& path, const std::string& kernel, const GridLaunch& launch) {
    CompileOptions options{.target = HostTarget::Named(GetParam().cpu)};
    auto module = TestModule::OpenFile(std::string(TUTTI_SOURCE_DIR "/examples/") + path, options);
    ASSERT_TRUE(module) << module.error().text;
    const auto result = module->Run(kernel, launch);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_FALSE(result->fault) << static_cast<int>(result->fault->kind) << " at " << std::hex << result->fault->address
                                << " thread " << std::dec << result->fault->thread << " line "
                                << result->fault->ptx_line;
  }
};

std::vector<Variant> Variants() {
  std::vector<Variant> variants = {{"x86-64-v2", false}};
  const VectorLevel level = HostTarget::Detect().level;
  if (level >= VectorLevel::kAvx2) variants.push_back({"x86-64-v3", false});
  if (level >= VectorLevel::kAvx512) variants.push_back({"x86-64-v4", false});
  return variants;
}
INSTANTIATE_TEST_SUITE_P(Level, Examples, testing::ValuesIn(Variants()), [](const auto& info) {
  const std::string cpu = info.param.cpu;
  return cpu.substr(cpu.size() - 2);
});

TEST_P(Examples, VectorAddOfAnyCount) {
  for (const uint32_t count : {1u, 31u, 1000u, 5000u}) {
    std::vector<float> a(count), b(count), c(count + 1, -1.0f);
    for (uint32_t i = 0; i < count; ++i) {
      a[i] = static_cast<float>(i) * 0.5f;
      b[i] = static_cast<float>(count - i);
    }
    GridLaunch launch{.grid = {3, 1, 1}, .block = {128, 1, 1}};
    launch.Param(a.data()).Param(b.data()).Param(c.data()).Param(count);
    Run("1_vector_add/vector_add.ptx", "vector_add_kernel", launch);
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
    EXPECT_EQ(c[count], -1.0f);
  }
}

TEST_P(Examples, TiledMatrixMultiply) {
  constexpr uint32_t kSize = 48;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  std::mt19937 random(1);
  for (uint32_t i = 0; i < kSize * kSize; ++i) {
    a[i] = static_cast<float>(random() % 2000) * 0.001f - 1;
    b[i] = static_cast<float>(random() % 2000) * 0.001f - 1;
  }
  GridLaunch launch{.grid = {4, 1, 1}, .block = {16, 16, 1}};
  launch.Param(a.data()).Param(b.data()).Param(c.data()).Param(kSize);
  Run("2_matrix_multiply/matrix_multiply.ptx", "matrix_multiply_kernel", launch);
  for (uint32_t row = 0; row < kSize; ++row) {
    for (uint32_t column = 0; column < kSize; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < kSize; ++k) sum = std::fma(a[row * kSize + k], b[k * kSize + column], sum);
      ASSERT_EQ(c[row * kSize + column], sum) << row << ", " << column;
    }
  }
}

TEST_P(Examples, ReductionWithShufflesAndABarrier) {
  constexpr uint32_t kCount = 10007;
  std::vector<uint32_t> values(kCount);
  std::mt19937 random(2);
  for (uint32_t& value : values) value = static_cast<uint32_t>(random());
  uint32_t result = 0;
  GridLaunch launch{.grid = {5, 1, 1}, .block = {256, 1, 1}};
  launch.Param(values.data()).Param(kCount).Param(&result);
  Run("3_reduction/reduction.ptx", "reduction_kernel", launch);
  EXPECT_EQ(result, std::accumulate(values.begin(), values.end(), 0u));
}

TEST_P(Examples, MandelbrotWhoseLanesLeaveAtDifferentTimes) {
  constexpr uint32_t kWidth = 100, kHeight = 61;
  std::vector<uint32_t> counts(kWidth * kHeight, ~0u);
  GridLaunch launch{.grid = {7, 1, 1}, .block = {96, 1, 1}};
  launch.Param(counts.data()).Param(kWidth).Param(kHeight);
  Run("4_mandelbrot/mandelbrot.ptx", "mandelbrot_kernel", launch);
  for (uint32_t i = 0; i < kWidth * kHeight; ++i) {
    const float c_re = std::fma(static_cast<float>(i % kWidth), 3.0f / 512.0f, -2.25f);
    const float c_im = std::fma(static_cast<float>(i / kWidth), 2.5f / 512.0f, -1.25f);
    float re = 0, im = 0;
    uint32_t n = 0;
    while (n < 256) {
      volatile float square = im * im;
      if (std::fma(re, re, square) > 4.0f) break;
      volatile float next = std::fma(re, re, -square);
      im = std::fma(re + re, im, c_im);
      re = next + c_re;
      ++n;
    }
    ASSERT_EQ(counts[i], n) << i;
  }
}

TEST_P(Examples, HistogramWithAtomics) {
  constexpr uint32_t kCount = 3001;
  std::vector<uint32_t> words(kCount), bins(256), expected(256);
  std::mt19937 random(3);
  for (uint32_t& word : words) {
    word = static_cast<uint32_t>(random()) & static_cast<uint32_t>(random());
    for (uint32_t shift = 0; shift < 32; shift += 8) ++expected[word >> shift & 255];
  }
  GridLaunch launch{.grid = {3, 1, 1}, .block = {160, 1, 1}};
  launch.Param(words.data()).Param(kCount).Param(bins.data());
  Run("5_histogram/histogram.ptx", "histogram_kernel", launch);
  EXPECT_EQ(bins, expected);
}

TEST_P(Examples, NBodyWithinRoundingOfTheHost) {
  constexpr uint32_t kCount = 256;
  struct alignas(16) Body {
    float x, y, z, w;
  };
  std::vector<Body> bodies(kCount), accelerations(kCount);
  std::mt19937 random(4);
  const auto next = [&] { return static_cast<float>(random() % 2001) * 0.001f - 1; };
  for (Body& body : bodies) body = {next(), next(), next(), next() + 1.5f};
  GridLaunch launch{.grid = {2, 1, 1}, .block = {128, 1, 1}};
  launch.Param(bodies.data()).Param(accelerations.data()).Param(kCount);
  Run("6_n_body/n_body.ptx", "n_body_kernel", launch);
  for (uint32_t i = 0; i < kCount; ++i) {
    double ax = 0, size = 0;
    for (const Body& other : bodies) {
      const double dx = other.x - bodies[i].x, dy = other.y - bodies[i].y, dz = other.z - bodies[i].z;
      const double term = dx * other.w / std::pow(dx * dx + dy * dy + dz * dz + 1e-4, 1.5);
      ax += term;
      size += std::abs(term);
    }
    ASSERT_NEAR(accelerations[i].x, ax, size * 1e-5) << i;
  }
}

uint32_t FlagsOf(const std::string& path, const std::string& kernel, const std::array<uint32_t, 3>& block) {
  auto module = TestModule::OpenFile(std::string(TUTTI_SOURCE_DIR "/") + path);
  EXPECT_TRUE(module) << module.error().text;
  const auto loaded = module->Kernel(kernel, block);
  EXPECT_TRUE(loaded) << loaded.error().text;
  return (*loaded)->descriptor().flags;
}

// Whether the descriptor's flags say that each warp needs a stack.
bool WarpsNeedStacks(const std::string& path, const std::string& kernel, const std::array<uint32_t, 3>& block) {
  return (FlagsOf(path, kernel, block) & guest::kYields) != 0;
}

TEST(BlockOrder, IsFreeWhereNoBlockCanWaitForAnotherOne) {
  const auto is_free = [](const std::string& path, const std::string& kernel) {
    return (FlagsOf(path, kernel, {64, 1, 1}) & guest::kBlocksInAnyOrder) != 0;
  };
  EXPECT_TRUE(is_free("examples/1_vector_add/vector_add.ptx", "vector_add_kernel"));
  EXPECT_TRUE(is_free("examples/3_reduction/reduction.ptx", "reduction_kernel")) << "barriers of a block";
  EXPECT_TRUE(is_free("examples/4_mandelbrot/mandelbrot.ptx", "mandelbrot_kernel")) << "ends by what it computes";
  EXPECT_TRUE(is_free("examples/5_histogram/histogram.ptx", "histogram_kernel")) << "atomics";
  EXPECT_FALSE(is_free("tests/run/cases/each_block_waits_for_the_one_before.ptx", "k"));
  EXPECT_FALSE(is_free("tests/run/cases/indirect_calls_to_different_functions.ptx", "k"));
}

TEST(Lockstep, KernelsThatWaitForTheWholeBlockNeedNoStacks) {
  EXPECT_FALSE(
      WarpsNeedStacks("examples/2_matrix_multiply/matrix_multiply.ptx", "matrix_multiply_kernel", {16, 16, 1}));
  EXPECT_FALSE(WarpsNeedStacks("examples/3_reduction/reduction.ptx", "reduction_kernel", {256, 1, 1}));
  EXPECT_FALSE(WarpsNeedStacks("examples/6_n_body/n_body.ptx", "n_body_kernel", {100, 1, 1}));
}

// The loader looks names up in the whole process first: an exported memcpy would be the host's.
TEST(SharedObject, ExportsNothingButItsDescriptor) {
  auto module = TestModule::OpenFile(TUTTI_SOURCE_DIR "/examples/1_vector_add/vector_add.ptx");
  ASSERT_TRUE(module) << module.error().text;
  const auto compiled = module->Kernel("vector_add_kernel", {32, 1, 1});
  ASSERT_TRUE(compiled) << compiled.error().text;
  EXPECT_TRUE((*compiled)->Exports(guest::kKernelSymbol));
  for (const char* name : {"memcpy", "memset", "fma", "tutti.run", "tutti.warp"})
    EXPECT_FALSE((*compiled)->Exports(name)) << name;
}

TEST(Lockstep, KernelsWithNamedBarriersKeepThem) {
  EXPECT_TRUE(WarpsNeedStacks("tests/run/cases/named_barriers_for_parts_of_a_block.ptx", "k", {128, 1, 1}));
}

}  // namespace
}  // namespace tutti::compiler
