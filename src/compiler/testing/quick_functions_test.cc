// Functions of the guest runtime in quick code (compiler/runtime/scalar_functions.cc).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compiler/testing/quick_kernel.h"
#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

// Each instruction of `type` (f32 or f64) that a function of the guest runtime does, of three operands as far as it has
// so many: what the threads get, one instruction after the other.
std::vector<uint64_t> RunFunctions(const std::string& type, const std::vector<std::string>& instructions,
                                   const std::vector<uint64_t>& in, const CompileOptions& options) {
  constexpr uint32_t kThreads = 256;
  std::string body =
      "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n"
      "mad.lo.u32 %r1, %r1, 256, %r2; mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2;\n"
      "mul.wide.u32 %d2, %r1, " +
      std::to_string(8 * instructions.size()) + "; add.u64 %d0, %d0, %d2;\n";
  for (int i = 0; i < 3; ++i)
    body += "ld.global." + type + " %f" + std::to_string(i) + ", [%d1+" + std::to_string(8 * i) + "];\n";
  for (size_t i = 0; i < instructions.size(); ++i)
    body += instructions[i] + "\nst.global." + type + " [%d0+" + std::to_string(8 * i) + "], %f3;\n";
  auto module = TestModule::Open(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
      ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg ." +
          type + " %f<4>;\n" + body + "ret;\n}\n",
      options);
  EXPECT_TRUE(module) << module.error().text;
  const auto blocks = static_cast<uint32_t>((in.size() - 2) / kThreads);
  std::vector<uint64_t> out(size_t{blocks} * kThreads * instructions.size());
  GridLaunch launch{.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}};
  const auto result = module->Run("k", launch.Param(out.data()).Param(in.data()));
  EXPECT_TRUE(result) << result.error().text;
  EXPECT_FALSE(result && result->fault);
  return out;
}

template <typename Number, typename Bits>
void ExpectSameFunctions(const std::string& type, const std::vector<std::string>& instructions) {
  constexpr Bits kPeculiar[] = {0,
                                1,
                                std::bit_cast<Bits>(Number{1}),
                                std::bit_cast<Bits>(Number{-1.5}),
                                std::bit_cast<Bits>(std::numeric_limits<Number>::infinity()),
                                std::bit_cast<Bits>(std::numeric_limits<Number>::max()),
                                std::bit_cast<Bits>(std::numeric_limits<Number>::min()),
                                ~Bits{0}};
  std::mt19937_64 random(7);
  std::vector<uint64_t> in(64 * 256 + 2);
  for (uint64_t& word : in) {
    const uint64_t bits = random();
    word = bits % 8 == 0   ? kPeculiar[bits / 8 % std::size(kPeculiar)]
           : bits % 2 == 0 ? static_cast<Bits>(bits >> 3)
                           : std::bit_cast<Bits>(static_cast<Number>(static_cast<int64_t>(random())) * Number{1e-17});
  }
  for (const char* processor : {"", "x86-64-v2"}) {
    CompileOptions vectors{.target = *processor == 0 ? HostTarget::Detect() : HostTarget::Named(processor)};
    CompileOptions quick = Quick();
    quick.target = vectors.target;
    const std::vector<uint64_t> expected = RunFunctions(type, instructions, in, vectors);
    const std::vector<uint64_t> got = RunFunctions(type, instructions, in, quick);
    ASSERT_EQ(expected.size(), got.size());
    const auto is_nan = [](uint64_t word) { return std::isnan(std::bit_cast<Number>(static_cast<Bits>(word))); };
    for (size_t i = 0; i < got.size(); ++i) {
      if (is_nan(expected[i]) && is_nan(got[i])) continue;
      ASSERT_EQ(expected[i], got[i]) << processor << " " << instructions[i % instructions.size()];
    }
  }
}

TEST(QuickFunctions, OfOneLaneAreThoseOfAWarp) {
  std::vector<std::string> f32 = {"sin.approx.f32 %f3, %f0;", "cos.approx.f32 %f3, %f0;", "ex2.approx.f32 %f3, %f0;",
                                  "lg2.approx.f32 %f3, %f0;", "tanh.approx.f32 %f3, %f0;"};
  std::vector<std::string> f64;
  for (const std::string mode : {"rz", "rm", "rp"}) {
    for (const std::string type : {"f32", "f64"}) {
      std::vector<std::string>& all = type == "f32" ? f32 : f64;
      all.push_back("fma." + mode + "." + type + " %f3, %f0, %f1, %f2;");
      all.push_back("div." + mode + "." + type + " %f3, %f0, %f1;");
      all.push_back("sqrt." + mode + "." + type + " %f3, %f0;");
    }
  }
  // Rounded to odd, then to nearest: a product halfway between two halves, and a little more.
  f32.push_back(
      "{ .reg .b16 %h<3>; cvt.rn.f16.f32 %h0, %f0; mov.b16 %h1, 0x3e00; mov.b16 %h2, 1;\n"
      "fma.rn.f16 %h0, %h0, %h1, %h2; cvt.f32.f16 %f3, %h0; }");
  f32.push_back(
      "{ .reg .b16 %h<3>; cvt.rn.bf16.f32 %h0, %f0; mov.b16 %h1, 0x3fc0; mov.b16 %h2, 1;\n"
      "fma.rn.bf16 %h0, %h0, %h1, %h2; cvt.f32.bf16 %f3, %h0; }");
  ExpectSameFunctions<float, uint32_t>("f32", f32);
  ExpectSameFunctions<double, uint64_t>("f64", f64);
}

// Which instructions a processor has for it changes no bit: AVX-512 with more of them (bf16, dot products) and without.
TEST(FunctionsOfTargets, AreTheSame) {
  const std::vector<std::string> instructions = {"sin.approx.f32 %f3, %f0;",
                                                 "cos.approx.ftz.f32 %f3, %f0;",
                                                 "ex2.approx.f32 %f3, %f0;",
                                                 "ex2.approx.ftz.f32 %f3, %f0;",
                                                 "lg2.approx.f32 %f3, %f0;",
                                                 "lg2.approx.ftz.f32 %f3, %f0;",
                                                 "tanh.approx.f32 %f3, %f0;",
                                                 "mul.ftz.f32 %f3, %f0, %f1;",
                                                 "fma.rn.ftz.f32 %f3, %f0, %f1, %f2;",
                                                 "max.ftz.f32 %f3, %f0, %f1;",
                                                 "add.ftz.f32 %f3, %f0, %f1;",
                                                 "rcp.approx.ftz.f32 %f3, %f0;",
                                                 "dp4a.s32.s32 %f3, %f0, %f1, %f2;",
                                                 "dp4a.u32.u32 %f3, %f0, %f1, %f2;",
                                                 "dp4a.u32.s32 %f3, %f0, %f1, %f2;",
                                                 "dp4a.s32.u32 %f3, %f0, %f1, %f2;",
                                                 "prmt.b32 %f3, %f0, %f1, %f2;",
                                                 "vabsdiff4.u32.u32.u32 %f3, %f0, %f1, %f2;",
                                                 "vabsdiff4.s32.s32.s32.add %f3, %f0, %f1, %f2;",
                                                 "vmin4.s32.s32.s32 %f3, %f0, %f1, %f2;",
                                                 "vmax4.u32.u32.u32.add %f3, %f0, %f1, %f2;"};
  std::mt19937_64 random(9);
  std::vector<uint64_t> in(64 * 256 + 2);
  for (uint64_t& word : in) {  // a quarter of them subnormal or nearly so
    word = static_cast<uint32_t>(random());
    if (random() % 4 == 0) word &= 0x80ffffff;
  }
  std::vector<HostTarget> targets = {HostTarget::Detect()};
  for (const VectorLevel level : {VectorLevel::kAvx512, VectorLevel::kAvx2, VectorLevel::kBaseline}) {
    if (level <= HostTarget::Detect().level)
      targets.push_back(HostTarget::Named(level == VectorLevel::kAvx512 ? "x86-64-v4"
                                          : level == VectorLevel::kAvx2 ? "x86-64-v3"
                                                                        : "x86-64-v2"));
  }
  std::vector<uint64_t> expected;
  for (const HostTarget& target : targets) {
    const std::vector<uint64_t> got = RunFunctions("f32", instructions, in, {.target = target});
    if (expected.empty()) expected = got;
    ASSERT_EQ(expected.size(), got.size());
    const auto is_nan = [](uint64_t word) { return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(word))); };
    for (size_t i = 0; i < got.size(); ++i) {
      if (is_nan(expected[i]) && is_nan(got[i])) continue;
      ASSERT_EQ(expected[i], got[i]) << target.cpu << " " << instructions[i % instructions.size()];
    }
  }
}

}  // namespace
}  // namespace tutti::compiler
