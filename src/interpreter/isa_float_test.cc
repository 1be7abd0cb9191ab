// Floating-point arithmetic, as the PTX ISA (9.7.3 to 9.7.5) defines it. Every value is worked out by hand.
#include <gtest/gtest.h>

#include "interpreter/one_instruction.h"

namespace tutti::interpreter {
namespace {

constexpr uint64_t kOne = 0x3f800000, kTwo = 0x40000000, kHalf = 0x3f000000, kMinus1 = 0xbf800000, kInf = 0x7f800000,
                   kNan = 0x7fc00001, kCanonical = 0x7fffffff;

TEST(IsaFloat, SumsAreRoundedTheWayTheInstructionSays) {
  const uint64_t tie = 0x33800000;  // 2^-24: half an ulp of 1
  EXPECT_EQ(Of("add.rn.f32", "r:rr", {kOne, tie}), kOne);
  EXPECT_EQ(Of("add.rz.f32", "r:rr", {kOne, tie}), kOne);
  EXPECT_EQ(Of("add.rm.f32", "r:rr", {kOne, tie}), kOne);
  EXPECT_EQ(Of("add.rp.f32", "r:rr", {kOne, tie}), 0x3f800001);
  EXPECT_EQ(Of("add.rn.f32", "r:rr", {0x3f800001, tie}), 0x3f800002);  // the even one
  EXPECT_EQ(Of("sub.rn.f32", "r:rr", {kOne, 0x33000000}), kOne);       // 1 - 2^-25: a tie below 1
  EXPECT_EQ(Of("sub.rz.f32", "r:rr", {kOne, 0x33000000}), 0x3f7fffff);
  EXPECT_EQ(Of("add.rm.f32", "r:rr", {kOne, kMinus1}), 0x80000000);  // an exact zero is negative when rounding down
  EXPECT_EQ(Of("add.rn.f32", "r:rr", {kOne, kMinus1}), 0u);
}

TEST(IsaFloat, WhatIsTooLargeIsInfiniteOrTheLargest) {
  EXPECT_EQ(Of("mul.rn.f32", "r:rr", {0x7f7fffff, kTwo}), kInf);
  EXPECT_EQ(Of("mul.rz.f32", "r:rr", {0x7f7fffff, kTwo}), 0x7f7fffff);
  EXPECT_EQ(Of("mul.rm.f32", "r:rr", {0xff7fffff, kTwo}), 0xff800000);
  EXPECT_EQ(Of("mul.rp.f32", "r:rr", {0xff7fffff, kTwo}), 0xff7fffff);
}

TEST(IsaFloat, SubnormalNumbersAreKeptOrFlushedWithTheirSign) {
  EXPECT_EQ(Of("mul.f32", "r:rr", {0x00800000, kHalf}), 0x00400000);
  EXPECT_EQ(Of("mul.ftz.f32", "r:rr", {0x00800000, kHalf}), 0u);
  EXPECT_EQ(Of("mul.ftz.f32", "r:rr", {0x80800000, kHalf}), 0x80000000);
  EXPECT_EQ(Of("add.ftz.f32", "r:rr", {0x80000001, 0x80000001}), 0x80000000);
  EXPECT_EQ(Of("add.f64", "d:dd", {1, 1}), 2u);
}

TEST(IsaFloat, SaturationClampsToTheUnitIntervalAndNanToZero) {
  EXPECT_EQ(Of("add.sat.f32", "r:rr", {0x3f400000, kHalf}), kOne);
  EXPECT_EQ(Of("add.sat.f32", "r:rr", {kMinus1, kHalf}), 0u);
  EXPECT_EQ(Of("add.sat.f32", "r:rr", {kNan, kHalf}), 0u);
  EXPECT_EQ(Of("mul.sat.f16", "h:hh", {0x4000, 0x4000}), 0x3c00u);
  EXPECT_EQ(Of("fma.rn.sat.f16x2", "r:rrr", {0x3c007e00, 0x40003c00, 0x00000000}), 0x3c000000u);
}

TEST(IsaFloat, AFusedProductIsRoundedOnce) {
  // (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24
  EXPECT_EQ(Of("fma.rn.f32", "r:rrr", {0x3f800800, 0x3f800800, 0xbf801000}), 0x33800000);
  // 2^-149 * 2^-149 + 1 is 1 and a little
  EXPECT_EQ(Of("fma.rp.f32", "r:rrr", {1, 1, kOne}), 0x3f800001);
  EXPECT_EQ(Of("fma.rz.f64", "d:ddd", {1, 1, 0x3ff0000000000000}), 0x3ff0000000000000);
  EXPECT_EQ(Of("fma.rp.f64", "d:ddd", {1, 1, 0x3ff0000000000000}), 0x3ff0000000000001);
  EXPECT_EQ(Of("fma.rn.relu.f16", "h:hhh", {0x3c00, 0xbc00, 0}), 0u);
  EXPECT_EQ(Of("fma.rn.relu.f16", "h:hhh", {0x7e00, 0xbc00, 0}), 0x7fffu);  // NaN is no negative result
}

TEST(IsaFloat, QuotientsAndRootsFollowIeee754) {
  EXPECT_EQ(Of("div.rn.f32", "r:rr", {kOne, 0}), kInf);
  EXPECT_EQ(Of("div.rn.f32", "r:rr", {0, 0}) & 0x7fffffff, kCanonical);
  EXPECT_EQ(Of("div.rn.f32", "r:rr", {kOne, 0x40400000}), 0x3eaaaaab);
  EXPECT_EQ(Of("div.rz.f32", "r:rr", {kOne, 0x40400000}), 0x3eaaaaaa);
  EXPECT_EQ(Of("rcp.rn.f32", "r:r", {0x80000000}), 0xff800000);
  EXPECT_EQ(Of("sqrt.rn.f32", "r:r", {0x80000000}), 0x80000000);
  EXPECT_EQ(Of("sqrt.rn.f32", "r:r", {kMinus1}), kCanonical);
  EXPECT_EQ(Of("sqrt.rn.f32", "r:r", {kTwo}), 0x3fb504f3);
  EXPECT_EQ(Of("sqrt.rp.f32", "r:r", {kTwo}), 0x3fb504f4);
}

TEST(IsaFloat, MinAndMaxTakeTheNumberAndOrderZeroes) {
  EXPECT_EQ(Of("min.f32", "r:rr", {kNan, kOne}), kOne);
  EXPECT_EQ(Of("max.f32", "r:rr", {kOne, kNan}), kOne);
  EXPECT_EQ(Of("min.f32", "r:rr", {kNan, kNan}), kCanonical);
  EXPECT_EQ(Of("max.NaN.f32", "r:rr", {kNan, kOne}), kCanonical);
  EXPECT_EQ(Of("min.f32", "r:rr", {0, 0x80000000}), 0x80000000);
  EXPECT_EQ(Of("max.f32", "r:rr", {0x80000000, 0}), 0u);
  EXPECT_EQ(Of("min.ftz.f32", "r:rr", {1, kOne}), 0u);
  EXPECT_EQ(Of("max.xorsign.abs.f32", "r:rr", {0xc0400000, kTwo}), 0xc0400000);  // |-3|, and signs that differ
  EXPECT_EQ(Of("min.xorsign.abs.f32", "r:rr", {0xc0400000, 0xc0000000}), kTwo);
  EXPECT_EQ(Of("max.f32", "r:rrr", {kOne, kNan, kTwo}), kTwo);
  EXPECT_EQ(Of("max.f16", "h:hh", {0x7e00, 0x8000}), 0x8000u);
  EXPECT_EQ(Of("min.NaN.bf16", "h:hh", {0x7fc0, 0x3f80}), 0x7fffu);
}

TEST(IsaFloat, HalvesOverflowAtTheMiddleBehindTheLargest) {
  EXPECT_EQ(Of("add.f16", "h:hh", {0x7bff, 0x4c00}), 0x7c00u);  // 65504 + 16, a tie, the even one is infinite
  EXPECT_EQ(Of("add.f16", "h:hh", {0x7bff, 0x4b80}), 0x7bffu);  // 65504 + 15
  EXPECT_EQ(Of("add.f16", "h:hh", {0x0001, 0x0001}), 0x0002u);  // subnormal
  EXPECT_EQ(Of("add.ftz.f16", "h:hh", {0x0001, 0x0001}), 0u);
  EXPECT_EQ(Of("fma.rn.bf16", "h:hhh", {0x3f80, 0x3f80, 0x3b80}), 0x3f80u);  // 1 + 2^-8: to even
  EXPECT_EQ(Of("fma.rn.bf16", "h:hhh", {0x3f80, 0x3f80, 0x3c40}), 0x3f82u);  // 1 + 3 * 2^-8
}

TEST(IsaFloat, SignsAreTakenWithoutLookingAtTheRest) {
  // the sign of the first, the rest of the second
  EXPECT_EQ(Of("copysign.f32", "r:rr", {0xbf800000, 0x40400000}), 0xc0400000);
  EXPECT_EQ(Of("copysign.f64", "d:dd", {0, 0xfff0000000000000}), 0x7ff0000000000000);
  EXPECT_EQ(Of("abs.f32", "r:r", {0x80000001}), 1u);
  EXPECT_EQ(Of("abs.ftz.f32", "r:r", {0x80000001}), 0u);
  EXPECT_EQ(Of("neg.f32", "r:r", {0}), 0x80000000);
  EXPECT_EQ(Of("neg.f16x2", "r:r", {0x3c008000}), 0xbc000000);
}

TEST(IsaFloat, PropertiesAreOfTheBits) {
  const uint64_t subnormal = 1, infinite = 0xff800000;
  EXPECT_EQ(Of("testp.finite.f32", "p:r", {subnormal}), 1u);
  EXPECT_EQ(Of("testp.finite.f32", "p:r", {infinite}), 0u);
  EXPECT_EQ(Of("testp.infinite.f32", "p:r", {infinite}), 1u);
  EXPECT_EQ(Of("testp.number.f32", "p:r", {infinite}), 1u);
  EXPECT_EQ(Of("testp.number.f32", "p:r", {kNan}), 0u);
  EXPECT_EQ(Of("testp.notanumber.f32", "p:r", {kNan}), 1u);
  EXPECT_EQ(Of("testp.normal.f32", "p:r", {subnormal}), 0u);
  EXPECT_EQ(Of("testp.normal.f32", "p:r", {0}), 1u);  // by exception
  EXPECT_EQ(Of("testp.subnormal.f32", "p:r", {subnormal}), 1u);
  EXPECT_EQ(Of("testp.subnormal.f32", "p:r", {0}), 0u);
  EXPECT_EQ(Of("testp.normal.f64", "p:d", {0x0010000000000000}), 1u);
}

TEST(IsaFloat, ComparisonsWithNanAreFalseUnlessTheyAreUnordered) {
  for (const char* ordered : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_EQ(Of(std::string("setp.") + ordered + ".f32", "p:rr", {kNan, kOne}), 0u) << ordered;
  for (const char* unordered : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_EQ(Of(std::string("setp.") + unordered + ".f32", "p:rr", {kOne, kNan}), 1u) << unordered;
  EXPECT_EQ(Of("setp.eq.f32", "p:rr", {0, 0x80000000}), 1u);
  EXPECT_EQ(Of("setp.gt.f32", "p:rr", {1, 0}), 1u);
  EXPECT_EQ(Of("setp.gt.ftz.f32", "p:rr", {1, 0}), 0u);
  EXPECT_EQ(Of("setp.lt.and.f32", "p|p:rrp", {kOne, kTwo, 1}), 1u);  // p = 1, q = !(a < b) and c
  EXPECT_EQ(Of("setp.lt.or.f32", "p|p:rrp", {kTwo, kOne, 1}), uint64_t{1} << 32 | 1);
  EXPECT_EQ(Of("set.gt.f32.f32", "r:rr", {kTwo, kOne}), kOne);
  EXPECT_EQ(Of("set.gt.u32.f32", "r:rr", {kTwo, kOne}), 0xffffffff);
}

}  // namespace
}  // namespace tutti::interpreter
