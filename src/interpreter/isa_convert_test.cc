// cvt, as the PTX ISA (9.7.9.21, 9.7.9.22) defines it. Every value is worked out by hand.
#include <gtest/gtest.h>

#include "interpreter/one_instruction.h"

namespace tutti::interpreter {
namespace {

TEST(IsaConvert, IntegersAreCutOrExtendedByTheTypeTheyComeFrom) {
  EXPECT_EQ(Of("cvt.u8.u32", "r:r", {0x1ff}), 0xffu);
  EXPECT_EQ(Of("cvt.s32.s8", "r:r", {0x180}), 0xffffff80);
  EXPECT_EQ(Of("cvt.u32.s8", "r:r", {0x80}), 0xffffff80);
  EXPECT_EQ(Of("cvt.u64.u32", "d:r", {0x80000000}), 0x80000000u);
  EXPECT_EQ(Of("cvt.s64.s32", "d:r", {0x80000000}), 0xffffffff80000000);
  EXPECT_EQ(Of("cvt.s16.s32", "r:r", {0x18000}), 0xffff8000);  // a wider register takes the sign
}

TEST(IsaConvert, SaturationKeepsToTheRangeOfTheResult) {
  EXPECT_EQ(Of("cvt.sat.s8.s32", "r:r", {200}), 127u);
  EXPECT_EQ(Of("cvt.sat.s8.s32", "r:r", {0xffffff00}), 0xffffff80);
  EXPECT_EQ(Of("cvt.sat.u8.s32", "r:r", {0xfffffffb}), 0u);
  EXPECT_EQ(Of("cvt.sat.s32.u32", "r:r", {0xffffffff}), 0x7fffffffu);
  EXPECT_EQ(Of("cvt.sat.u16.u64", "h:d", {1ull << 40}), 0xffffu);
}

TEST(IsaConvert, FloatsBecomeIntegersInFourRoundings) {
  EXPECT_EQ(Of("cvt.rni.s32.f32", "r:r", {0x40200000}), 2u);           // 2.5
  EXPECT_EQ(Of("cvt.rni.s32.f32", "r:r", {0x40600000}), 4u);           // 3.5
  EXPECT_EQ(Of("cvt.rni.s32.f32", "r:r", {0xc0200000}), 0xfffffffe);   // -2.5
  EXPECT_EQ(Of("cvt.rzi.s32.f32", "r:r", {0xc02ccccd}), 0xfffffffe);   // -2.7
  EXPECT_EQ(Of("cvt.rmi.s32.f32", "r:r", {0xc0066666}), 0xfffffffd);   // -2.1
  EXPECT_EQ(Of("cvt.rpi.s32.f32", "r:r", {0x40066666}), 3u);           // 2.1
  EXPECT_EQ(Of("cvt.rpi.ftz.s32.f32", "r:r", {1}), 0u);
  EXPECT_EQ(Of("cvt.rpi.s32.f32", "r:r", {1}), 1u);
}

TEST(IsaConvert, FloatsOutOfRangeAreClampedAndNanIsZeroOrTheTopBit) {
  EXPECT_EQ(Of("cvt.rzi.s32.f32", "r:r", {0x4f32d05e}), 0x7fffffffu);  // 3e9
  EXPECT_EQ(Of("cvt.rzi.s32.f32", "r:r", {0xcf32d05e}), 0x80000000);
  EXPECT_EQ(Of("cvt.rzi.u32.f32", "r:r", {0xbf800000}), 0u);
  EXPECT_EQ(Of("cvt.rzi.u8.f32", "r:r", {0x43960000}), 255u);          // 300
  EXPECT_EQ(Of("cvt.rzi.s32.f32", "r:r", {0x7fc00000}), 0u);
  EXPECT_EQ(Of("cvt.rzi.u32.f16", "r:h", {0x7e00}), 0u);
  EXPECT_EQ(Of("cvt.rzi.s32.f64", "r:d", {0x7ff8000000000000}), 0x80000000);
  EXPECT_EQ(Of("cvt.rzi.u64.f32", "d:r", {0x7fc00000}), 0x8000000000000000);
  EXPECT_EQ(Of("cvt.rzi.u64.f32", "d:r", {0x7f800000}), ~0ull);
}

TEST(IsaConvert, IntegersBecomeFloatsRounded) {
  EXPECT_EQ(Of("cvt.rn.f32.u32", "r:r", {0xffffffff}), 0x4f800000);
  EXPECT_EQ(Of("cvt.rz.f32.u32", "r:r", {0xffffffff}), 0x4f7fffff);
  EXPECT_EQ(Of("cvt.rm.f32.s32", "r:r", {0xfeffffff}), 0xcb800001);    // -(2^24 + 1)
  EXPECT_EQ(Of("cvt.rn.f32.s32", "r:r", {0xfeffffff}), 0xcb800000);
  EXPECT_EQ(Of("cvt.rn.f16.u32", "h:r", {65520}), 0x7c00u);
  EXPECT_EQ(Of("cvt.rz.f16.u32", "h:r", {65520}), 0x7bffu);
  EXPECT_EQ(Of("cvt.rn.f64.u64", "d:d", {0xfffffffffffffc00}), 0x43f0000000000000);  // a tie: 2^64
}

TEST(IsaConvert, FloatsAreRoundedToIntegralOnesWithTheirSign) {
  EXPECT_EQ(Of("cvt.rni.f32.f32", "r:r", {0xbf000000}), 0x80000000);   // -0.5
  EXPECT_EQ(Of("cvt.rni.f32.f32", "r:r", {0x3fc00000}), 0x40000000);   // 1.5
  EXPECT_EQ(Of("cvt.rpi.f64.f64", "d:d", {1}), 0x3ff0000000000000);
  EXPECT_EQ(Of("cvt.sat.f32.f32", "r:r", {0x7fc00000}), 0u);
  EXPECT_EQ(Of("cvt.sat.f32.f32", "r:r", {0x40000000}), 0x3f800000u);
}

TEST(IsaConvert, FloatsBecomeNarrowerRounded) {
  EXPECT_EQ(Of("cvt.rn.f32.f64", "r:d", {0x47effffff0000000}), 0x7f800000);  // the middle behind the largest
  EXPECT_EQ(Of("cvt.rz.f32.f64", "r:d", {0x47effffff0000000}), 0x7f7fffff);
  EXPECT_EQ(Of("cvt.rn.f32.f64", "r:d", {0x3690000000000000}), 0u);          // 2^-150: a tie, to even
  EXPECT_EQ(Of("cvt.rp.f32.f64", "r:d", {0x3690000000000000}), 1u);
  EXPECT_EQ(Of("cvt.rn.f16.f32", "h:r", {0x33000000}), 0u);                  // 2^-25: a tie, to even
  EXPECT_EQ(Of("cvt.rn.f16.f32", "h:r", {0x33000001}), 1u);
  EXPECT_EQ(Of("cvt.rn.bf16.f32", "h:r", {0x3f808000}), 0x3f80u);
  EXPECT_EQ(Of("cvt.rn.bf16.f32", "h:r", {0x3f818000}), 0x3f82u);
  EXPECT_EQ(Of("cvt.rz.bf16.f32", "h:r", {0x3f80ffff}), 0x3f80u);
  EXPECT_EQ(Of("cvt.rn.relu.f16.f32", "h:r", {0xbf800000}), 0u);
  EXPECT_EQ(Of("cvt.rn.relu.f16.f32", "h:r", {0x7fc00000}), 0x7fffu);
  EXPECT_EQ(Of("cvt.rn.f16x2.f32", "r:rr", {0x3f800000, 0x40000000}), 0x3c004000u);  // the first is the upper half
  EXPECT_EQ(Of("cvt.ftz.f32.f16", "r:h", {0x0001}), 0x33800000u);                    // subnormal as f16 only
}

TEST(IsaConvert, FloatsOfEightBitsAreFiniteAndKeepNan) {
  EXPECT_EQ(Of("cvt.rn.satfinite.e4m3x2.f32", "h:rr", {0x43fa0000, 0x80000000}), 0x7e80u);  // 500 and -0
  EXPECT_EQ(Of("cvt.rn.satfinite.e4m3x2.f32", "h:rr", {0x7fc00000, 0x3f800000}), 0x7f38u);
  EXPECT_EQ(Of("cvt.rn.satfinite.e5m2x2.f32", "h:rr", {0x49742400, 0xbf800000}), 0x7bbcu);  // 10^6 and -1
  EXPECT_EQ(Of("cvt.rn.satfinite.relu.e4m3x2.f32", "h:rr", {0xbf800000, 0x3f800000}), 0x0038u);
  EXPECT_EQ(Of("cvt.rn.f16x2.e4m3x2", "r:h", {0x387f}), 0x3c007fffu);
  EXPECT_EQ(Of("cvt.rn.f16x2.e5m2x2", "r:h", {0x7c01}), 0x7c000100u);                       // infinity, and 2^-16
}

TEST(IsaConvert, Tf32KeepsTenBits) {
  EXPECT_EQ(Of("cvt.rna.tf32.f32", "r:r", {0x3f801000}), 0x3f802000u);
  EXPECT_EQ(Of("cvt.rn.tf32.f32", "r:r", {0x3f801000}), 0x3f800000u);
  EXPECT_EQ(Of("cvt.rz.tf32.f32", "r:r", {0x3f803fff}), 0x3f802000u);
}

TEST(IsaConvert, PackingSaturatesAndShiftsWhatWasThere) {
  EXPECT_EQ(Of("cvt.pack.sat.u8.s32.b32", "r:rrr", {300, 0xffffffff, 0x1234}), 0x1234ff00u);
  EXPECT_EQ(Of("cvt.pack.sat.s8.s32.b32", "r:rrr", {300, 0xfffffe00, 0xabcd1234}), 0x12347f80u);
  EXPECT_EQ(Of("cvt.pack.sat.s16.s32", "r:rr", {0x00010000, 0xfffffffe}), 0x7ffffffeu);
}

}  // namespace
}  // namespace tutti::interpreter
