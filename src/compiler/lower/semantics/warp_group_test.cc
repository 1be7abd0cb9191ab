// wgmma of every type, with A in registers and in memory, in every layout of shared memory, against a product computed
// by the host. The numbers are small integers, so that every type holds them and every order of summation is exact.
#include <gtest/gtest.h>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/testing/test_module.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kRows = 64, kThreads = 128, kRightAt = 32 << 10, kSharedBytes = 80 << 10;

struct Type {
  const char* ptx;
  uint32_t bits;
  uint64_t (*encode)(int value);
  bool has_signs, transposes;
};
const Type kHalf = {"f16", 16, [](int v) { return uint64_t{Encode(v, kF16)}; }, true, true};
const Type kBrain = {"bf16", 16, [](int v) { return uint64_t{Encode(v, kBf16)}; }, true, true};
const Type kTf32 = {"tf32", 32, [](int v) { return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(v))} | 0x1fff; },
                    true, false};  // the lowest bits do not count
const Type kE5m2 = {"e5m2", 8, [](int v) { return uint64_t{Encode(v, kF16)} >> 8; }, true, false};
const Type kE4m3 = {"e4m3", 8,
                    [](int v) {
                      // The bits of a half with an exponent of four bits, whose bias is 8 less.
                      const uint64_t half = Encode(v, kF16);
                      return v == 0 ? uint64_t{0} : (half >> 15 << 7) | (((half & 0x7fff) >> 7) - (8 << 3));
                    },
                    true, false};
const Type kS8 = {"s8", 8, [](int v) { return static_cast<uint64_t>(v) & 0xff; }, false, false};
const Type kU8 = {"u8", 8, [](int v) { return static_cast<uint64_t>(v + 8) & 0xff; }, false, false};
const Type kBit = {"b1", 1, [](int v) { return static_cast<uint64_t>(v) & 1; }, false, false};

int ValueOf(const Type& type, int value) { return &type == &kU8 ? value + 8 : &type == &kBit ? value & 1 : value; }

// Where elements lie, by the canonical layouts of the PTX ISA (9.7.15.5.1.2).
struct Layout {
  uint32_t span;  // of the swizzle; 16: none
  bool across;  // neighbours along M or N
  uint32_t leading, stride;  // bytes

  uint32_t mode() const { return span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0; }
  uint64_t Descriptor(uint32_t start) const {
    return uint64_t{start >> 4} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | uint64_t{mode()} << 62;
  }
  // The bit of an element. `start` is where the descriptor points to: also within a pattern.
  uint32_t BitOf(uint32_t start, const Type& type, uint32_t outer, uint32_t k) const {
    const uint32_t per = 128 / type.bits, inner = across ? outer : k, other = across ? k : outer;
    uint32_t byte = start + other % 8 * span;
    if (!across) {
      byte += other / 8 * stride + inner / per * (span == 16 ? leading : 16);
    } else if (span == 16) {
      byte += other / 8 * leading + inner / per * stride;
    } else {
      byte += other / 8 * stride + inner / per % (span / 16) * 16 + inner / per / (span / 16) * leading;
    }
    if (span > 16) byte ^= (byte >> 7 & (span / 16 - 1)) << 4;
    return byte * 8 + inner % per * type.bits;
  }
};

struct Case {
  const Type* left;
  const Type* right;
  const char* sum;
  uint32_t columns;
  Layout a, b;
  bool in_registers = false;
  int sign_a = 1, sign_b = 1;
  bool keeps = true;
  uint32_t start = 0;  // of both matrices in their parts of shared memory
};

int LeftAt(const Case& test, uint32_t row, uint32_t k) {
  return ValueOf(*test.left, static_cast<int>((row * 7 + k * 5 + 3) % 13) - 6);
}
int RightAt(const Case& test, uint32_t k, uint32_t column) {
  return ValueOf(*test.right, static_cast<int>((k * 11 + column * 3 + 1) % 9) - 4);
}
int SumAt(uint32_t row, uint32_t column) { return static_cast<int>((row * 5 + column) % 21) - 10; }

void Put(std::vector<uint8_t>& memory, uint32_t bit, const Type& type, uint64_t value) {
  for (uint32_t i = 0; i < type.bits; ++i) {
    const uint32_t at = bit + i;
    memory[at / 8] = static_cast<uint8_t>((memory[at / 8] & ~(1u << at % 8)) | (value >> i & 1) << at % 8);
  }
}

std::string List(const char* prefix, uint32_t count) {
  std::string list = "{";
  for (uint32_t i = 0; i < count; ++i) list += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, i);
  return list + "}";
}

uint32_t DepthOf(const Type& type) { return 256 / type.bits; }
bool IsPacked(const Case& test) { return test.sum == std::string_view("f16"); }
uint32_t RegistersOf(const Case& test) { return test.columns / (IsPacked(test) ? 4 : 2); }

std::string Text(const Case& test) {
  const std::string sum = test.sum;
  const uint32_t registers = RegistersOf(test);
  std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n";
  text += fmt::format(
      ".visible .entry k(.param .u64 image, .param .u64 factor, .param .u64 sums, .param .u32 keep, .param .u64 da, "
      ".param .u64 db) {{\n.shared .align 1024 .b8 memory[{}];\n.reg .b64 %p<6>; .reg .b32 %s<6>; .reg .b32 %a<4>; "
      ".reg .{} %d<{}>; .reg .pred %q, %k;\n",
      kSharedBytes, sum == "f16" ? "b32" : sum, registers);
  text += fmt::format(R"(
  ld.param.u64 %p0, [image]; ld.param.u64 %p1, [factor]; ld.param.u64 %p2, [sums]; ld.param.u32 %s0, [keep];
  ld.param.u64 %p3, [da]; ld.param.u64 %p4, [db];
  mov.u32 %s1, %tid.x; setp.eq.u32 %q, %s1, 0; setp.ne.u32 %k, %s0, 0;
  mov.u32 %s2, memory;
  @%q cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s2], [%p0], {0}, [memory+{0}];
  bar.sync 0;
  mul.wide.u32 %p5, %s1, 16; add.u64 %p1, %p1, %p5;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p1];
  mul.wide.u32 %p5, %s1, {1}; add.u64 %p2, %p2, %p5;
)",
                      kSharedBytes - 16, 4 * registers);
  for (uint32_t i = 0; i < registers; ++i) text += fmt::format("ld.global.b32 %d{}, [%p2+{}];\n", i, 4 * i);
  text += "wgmma.fence.sync.aligned;\n";
  text += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}{} {}, {}, %p4, %k", test.columns,
                      DepthOf(*test.left), sum, test.left->ptx, test.right->ptx, test.left == &kBit ? ".and.popc" : "",
                      List("d", registers), test.in_registers ? List("a", 4) : "%p3");
  if (test.left->has_signs) text += fmt::format(", {}, {}", test.sign_a, test.sign_b);
  if (test.left->transposes && !test.in_registers) text += fmt::format(", {}", test.a.across ? 1 : 0);
  if (test.left->transposes) text += fmt::format(", {}", test.b.across ? 1 : 0);
  text += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (uint32_t i = 0; i < registers; ++i) text += fmt::format("st.global.b32 [%p2+{}], %d{};\n", 4 * i, i);
  return text + "ret;\n}\n";
}

uint32_t Single(const Case& test, int value) {
  return test.sum == std::string_view("s32") ? static_cast<uint32_t>(value)
                                             : std::bit_cast<uint32_t>(static_cast<float>(value));
}

void Multiply(const Case& test) {
  const uint32_t depth = DepthOf(*test.left), registers = RegistersOf(test);
  std::vector<uint8_t> image(kSharedBytes);
  std::vector<uint32_t> factor(kThreads * 4), sums(kThreads * registers), expected(sums.size());
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t row = 0; row < kRows; ++row)
      Put(image, test.a.BitOf(test.start, *test.left, row, k), *test.left,
          test.left->encode(LeftAt(test, row, k) - (test.left == &kU8 ? 8 : 0)));
    for (uint32_t column = 0; column < test.columns; ++column) {
      Put(image, test.b.BitOf(kRightAt + test.start, *test.right, column, k), *test.right,
          test.right->encode(RightAt(test, k, column) - (test.right == &kU8 ? 8 : 0)));
    }
  }
  const uint32_t per = 32 / test.left->bits;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    const uint32_t lane = thread % 32, first = thread / 32 * 16;
    for (uint32_t r = 0; r < 4; ++r) {
      for (uint32_t j = 0; j < per; ++j) {
        const int value = LeftAt(test, first + lane / 4 + 8 * (r % 2), (lane % 4 + 4 * (r / 2)) * per + j);
        factor[4 * thread + r] |= static_cast<uint32_t>(test.left->encode(value - (test.left == &kU8 ? 8 : 0)))
                                  << (test.left->bits * j % 32);
      }
    }
    for (uint32_t i = 0; i < registers * (IsPacked(test) ? 2 : 1); ++i) {
      const uint32_t row = first + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      int sum = test.keeps ? SumAt(row, column) : 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += test.sign_a * test.sign_b * LeftAt(test, row, k) * RightAt(test, k, column);
      if (IsPacked(test)) {
        sums[thread * registers + i / 2] |= uint32_t{Encode(SumAt(row, column), kF16)} << (16 * (i % 2));
        expected[thread * registers + i / 2] |= uint32_t{Encode(sum, kF16)} << (16 * (i % 2));
      } else {
        sums[thread * registers + i] = Single(test, SumAt(row, column));
        expected[thread * registers + i] = Single(test, sum);
      }
    }
  }
  const std::string text = Text(test);
  auto module = TestModule::Open(text);
  ASSERT_TRUE(module) << module.error().text;
  GridLaunch launch;
  launch.block = {kThreads, 1, 1};
  launch.Param(image.data())
      .Param(factor.data())
      .Param(sums.data())
      .Param(uint32_t{test.keeps ? 1u : 0u})
      .Param(test.a.Descriptor(test.start))
      .Param(test.b.Descriptor(kRightAt + test.start));
  const auto result = module->Run("k", launch);
  ASSERT_TRUE(result) << result.error().text;
  ASSERT_FALSE(result->fault);
  EXPECT_EQ(sums, expected) << text;
}

// Patterns one behind the other, as tools lay out tiles.
constexpr Layout kPlain = {16, false, 128, 256};
constexpr Layout kAlong32 = {32, false, 16, 256}, kAlong64 = {64, false, 16, 512}, kAlong128 = {128, false, 16, 1024};

TEST(WarpGroups, EveryTypeMultiplies) {
  for (const Case& test : {
           Case{&kHalf, &kHalf, "f32", 8, kPlain, kPlain},
           Case{&kHalf, &kHalf, "f16", 24, kPlain, kPlain},
           Case{&kBrain, &kBrain, "f32", 16, kPlain, kPlain},
           Case{&kTf32, &kTf32, "f32", 32, kPlain, kPlain},
           Case{&kE4m3, &kE4m3, "f32", 8, kPlain, kPlain},
           Case{&kE4m3, &kE5m2, "f16", 16, kPlain, kPlain},
           Case{&kE5m2, &kE4m3, "f32", 8, kPlain, kPlain},
           Case{&kE5m2, &kE5m2, "f32", 8, kPlain, kPlain},
           Case{&kS8, &kS8, "s32", 8, kPlain, kPlain},
           Case{&kS8, &kU8, "s32", 16, kPlain, kPlain},
           Case{&kU8, &kS8, "s32", 24, kPlain, kPlain},
           Case{&kU8, &kU8, "s32", 8, kPlain, kPlain},
           Case{&kBit, &kBit, "s32", 16, kPlain, kPlain},
       }) {
    Multiply(test);
    Case in_registers = test;
    in_registers.in_registers = true;
    Multiply(in_registers);
  }
}

TEST(WarpGroups, EverySwizzleIsUndone) {
  for (const Layout& layout : {kAlong32, kAlong64, kAlong128}) {
    Multiply({&kHalf, &kHalf, "f32", 16, layout, layout});
    Multiply({&kTf32, &kTf32, "f32", 16, layout, layout});
    Multiply({&kS8, &kS8, "s32", 32, layout, layout});
  }
  // The second step along K begins within the pattern.
  Multiply({.left = &kHalf, .right = &kHalf, .sum = "f32", .columns = 16, .a = kAlong128, .b = kAlong64, .start = 32});
}

TEST(WarpGroups, MatricesAcrossAreTransposed) {
  constexpr Layout kAcross = {16, true, 2048, 128};
  constexpr Layout kAcross32 = {32, true, 512, 256}, kAcross64 = {64, true, 1024, 512},
                   kAcross128 = {128, true, 2048, 1024};
  for (const Layout& layout : {kAcross, kAcross32, kAcross64, kAcross128}) {
    Multiply({&kHalf, &kHalf, "f32", 64, layout, layout});
    Multiply({&kBrain, &kBrain, "f32", 128, kAlong128, layout});
    Multiply(
        {.left = &kHalf, .right = &kHalf, .sum = "f16", .columns = 72, .a = kPlain, .b = layout, .in_registers = true});
  }
}

TEST(WarpGroups, SumsMayBeNegatedOrForgotten) {
  const Case test{&kHalf, &kHalf, "f32", 16, kAlong128, kAlong128};
  for (const int sign : {1, -1}) {
    Case changed = test;
    changed.sign_a = sign;
    changed.sign_b = -1;
    changed.keeps = sign == 1;
    Multiply(changed);
  }
}

TEST(WarpGroups, TheWidestProductHas256Columns) {
  Multiply({&kHalf, &kHalf, "f32", 256, kAlong128, kAlong128});
  Multiply({&kHalf, &kHalf, "f16", 248, kAlong128, kAlong128});
}

}  // namespace
}  // namespace tutti::compiler
