// Integers and bits, as the PTX ISA (9.7.1, 9.7.8) defines them. Every value is worked out by hand.
#include <gtest/gtest.h>

#include "interpreter/one_instruction.h"

namespace tutti::interpreter {
namespace {

TEST(IsaInteger, AdditionWrapsUnlessItSaturates) {
  EXPECT_EQ(Of("add.s32", "r:rr", {0x7fffffff, 1}), 0x80000000);
  EXPECT_EQ(Of("add.sat.s32", "r:rr", {0x7fffffff, 1}), 0x7fffffff);
  EXPECT_EQ(Of("sub.sat.s32", "r:rr", {0x80000000, 1}), 0x80000000);
  EXPECT_EQ(Of("add.u16x2", "r:rr", {0xffff0001, 0x0001ffff}), 0u);
}

TEST(IsaInteger, ProductsAreTheirLowHighOrWholeBits) {
  EXPECT_EQ(Of("mul.lo.u32", "r:rr", {0x10001, 0x10001}), 0x20001);
  EXPECT_EQ(Of("mul.hi.u32", "r:rr", {0xffffffff, 0xffffffff}), 0xfffffffe);
  EXPECT_EQ(Of("mul.hi.s32", "r:rr", {0xffffffff, 0xffffffff}), 0u);
  EXPECT_EQ(Of("mul.wide.s16", "r:hh", {0x8000, 2}), 0xffff0000);
  EXPECT_EQ(Of("mul.wide.u32", "d:rr", {0xffffffff, 0xffffffff}), 0xfffffffe00000001);
  EXPECT_EQ(Of("mul.hi.u64", "d:dd", {1ull << 63, 6}), 3u);
  // The sum of 1, the upper half of 2^33, and the largest number.
  EXPECT_EQ(Of("mad.hi.sat.s32", "r:rrr", {0x7fffffff, 4, 0x7fffffff}), 0x7fffffff);
}

TEST(IsaInteger, ProductsOf24BitsTakeTheLower24OfTheirSources) {
  EXPECT_EQ(Of("mul24.hi.u32", "r:rr", {0xff800000, 0x800000}), 0x40000000);  // 2^46, bits 16 to 47
  EXPECT_EQ(Of("mul24.lo.s32", "r:rr", {0x00ffffff, 2}), 0xfffffffe);        // -1 in 24 bits
}

TEST(IsaInteger, DivisionGoesTowardZero) {
  EXPECT_EQ(Of("div.s32", "r:rr", {0xfffffff9, 2}), 0xfffffffd);
  EXPECT_EQ(Of("rem.s32", "r:rr", {0xfffffff9, 2}), 0xffffffff);
  EXPECT_EQ(Of("div.u16", "h:hh", {0xfff9, 2}), 0x7ffc);
}

TEST(IsaInteger, TheLeastNumberIsItsOwnMagnitude) {
  EXPECT_EQ(Of("abs.s32", "r:r", {0x80000000}), 0x80000000);
  EXPECT_EQ(Of("neg.s16", "h:h", {0x8000}), 0x8000);
  EXPECT_EQ(Of("sad.s32", "r:rrr", {0xfffffffb, 3, 10}), 18u);
  EXPECT_EQ(Of("sad.u32", "r:rrr", {0xfffffffb, 0xffffffff, 10}), 14u);
}

TEST(IsaInteger, ReluTakesNegativeResultsForZero) {
  EXPECT_EQ(Of("max.relu.s32", "r:rr", {0xfffffffb, 0xfffffff0}), 0u);
  EXPECT_EQ(Of("min.relu.s16x2", "r:rr", {0x0003ffff, 0x00050007}), 0x00030000);
}

TEST(IsaInteger, ShiftsByMoreThanTheWidthShiftEverythingOut) {
  EXPECT_EQ(Of("shl.b32", "r:rr", {1, 32}), 0u);
  EXPECT_EQ(Of("shl.b16", "h:hr", {1, 16}), 0u);
  EXPECT_EQ(Of("shr.u32", "r:rr", {0xffffffff, 33}), 0u);
  EXPECT_EQ(Of("shr.s32", "r:rr", {0xfffffff8, 40}), 0xffffffff);
  EXPECT_EQ(Of("shr.s64", "d:dr", {1ull << 63, 0xffffffff}), ~0ull);
}

TEST(IsaInteger, FunnelShiftsClampOrWrapTheirAmount) {
  EXPECT_EQ(Of("shf.l.wrap.b32", "r:rrr", {0x89abcdef, 0x01234567, 8}), 0x23456789);
  EXPECT_EQ(Of("shf.r.wrap.b32", "r:rrr", {0x89abcdef, 0x01234567, 40}), 0x6789abcd);
  EXPECT_EQ(Of("shf.r.clamp.b32", "r:rrr", {0x89abcdef, 0x01234567, 40}), 0x01234567);
  EXPECT_EQ(Of("shf.l.clamp.b32", "r:rrr", {0x89abcdef, 0x01234567, 32}), 0x89abcdef);
}

TEST(IsaInteger, AFieldEndsWhereTheWordDoes) {
  EXPECT_EQ(Of("bfe.u32", "r:rrr", {0xdeadbeef, 8, 8}), 0xbeu);
  EXPECT_EQ(Of("bfe.s32", "r:rrr", {0xdeadbeef, 8, 8}), 0xffffffbe);
  EXPECT_EQ(Of("bfe.s32", "r:rrr", {0x80000000, 28, 8}), 0xfffffff8);  // the sign is that of bit 31
  EXPECT_EQ(Of("bfe.u32", "r:rrr", {0xffffffff, 32, 4}), 0u);
  EXPECT_EQ(Of("bfe.s32", "r:rrr", {0x80000000, 40, 4}), 0xffffffff);
  EXPECT_EQ(Of("bfe.s32", "r:rrr", {0xffffffff, 4, 0}), 0u);
  EXPECT_EQ(Of("bfe.u32", "r:rrr", {0xff00, 0x108, 0x204}), 0xfu);  // eight bits of position and length
  EXPECT_EQ(Of("bfe.u64", "d:drr", {0xa000000000000000, 60, 8}), 0xau);
  EXPECT_EQ(Of("bfi.b32", "r:rrrr", {0xff, 0, 8, 4}), 0xf00u);
  EXPECT_EQ(Of("bfi.b32", "r:rrrr", {0xff, 1, 30, 8}), 0xc0000001);
  EXPECT_EQ(Of("bfi.b32", "r:rrrr", {0xff, 0x1234, 40, 8}), 0x1234u);
  EXPECT_EQ(Of("bfi.b32", "r:rrrr", {0xff, 0x1234, 4, 0}), 0x1234u);
}

TEST(IsaInteger, TheHighestBitIsFoundOfWhatIsNoSign) {
  EXPECT_EQ(Of("bfind.u32", "r:r", {0x00010000}), 16u);
  EXPECT_EQ(Of("bfind.u32", "r:r", {0}), 0xffffffff);
  EXPECT_EQ(Of("bfind.s32", "r:r", {0xfffffff0}), 3u);
  EXPECT_EQ(Of("bfind.s32", "r:r", {0xffffffff}), 0xffffffff);
  EXPECT_EQ(Of("bfind.shiftamt.u32", "r:r", {1}), 31u);
  EXPECT_EQ(Of("bfind.shiftamt.u32", "r:r", {0}), 0xffffffff);
  EXPECT_EQ(Of("bfind.u64", "r:d", {1ull << 40}), 40u);
  EXPECT_EQ(Of("clz.b32", "r:r", {0}), 32u);
  EXPECT_EQ(Of("clz.b64", "r:d", {1}), 63u);
  EXPECT_EQ(Of("popc.b64", "r:d", {0xf0f0f0f0f0f0f0f0}), 32u);
  EXPECT_EQ(Of("brev.b32", "r:r", {0x80000001}), 0x80000001);
}

TEST(IsaInteger, AnNBitNumberIsExtendedByItsMode) {
  EXPECT_EQ(Of("szext.clamp.s32", "r:rr", {0xff, 8}), 0xffffffff);
  EXPECT_EQ(Of("szext.clamp.u32", "r:rr", {0x1ff, 8}), 0xffu);
  EXPECT_EQ(Of("szext.wrap.s32", "r:rr", {0xff, 40}), 0xffffffff);
  EXPECT_EQ(Of("szext.clamp.s32", "r:rr", {0x80000000, 32}), 0x80000000);
  EXPECT_EQ(Of("szext.wrap.u32", "r:rr", {0xffffffff, 0}), 0u);
}

TEST(IsaInteger, AMaskIsClampedOrWrapped) {
  EXPECT_EQ(Of("bmsk.clamp.b32", "r:rr", {4, 8}), 0xff0u);
  EXPECT_EQ(Of("bmsk.clamp.b32", "r:rr", {28, 8}), 0xf0000000);
  EXPECT_EQ(Of("bmsk.clamp.b32", "r:rr", {32, 1}), 0u);
  EXPECT_EQ(Of("bmsk.wrap.b32", "r:rr", {36, 40}), 0xff0u);
}

TEST(IsaInteger, TheNthSetBitIsSoughtEitherWay) {
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 0, 1}), 1u);
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 0, 2}), 5u);
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 5, 0}), 5u);
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 0, 0}), 0xffffffff);
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 5, 0xfffffffe}), 1u);
  EXPECT_EQ(Of("fns.b32", "r:rrr", {0x22, 0, 3}), 0xffffffff);
}

TEST(IsaInteger, BytesArePickedByNumberOrMode) {
  EXPECT_EQ(Of("prmt.b32", "r:rrr", {0x03020100, 0x07060504, 0x7531}), 0x07050301);
  EXPECT_EQ(Of("prmt.b32", "r:rrr", {0x00000080, 0, 0x4448}), 0x000000ff);  // the sign of byte 0
  EXPECT_EQ(Of("prmt.b32.f4e", "r:rrr", {0x03020100, 0x07060504, 1}), 0x04030201);
  EXPECT_EQ(Of("prmt.b32.b4e", "r:rrr", {0x03020100, 0x07060504, 1}), 0x06070001);
  EXPECT_EQ(Of("prmt.b32.rc8", "r:rrr", {0x03020100, 0x07060504, 2}), 0x02020202);
  EXPECT_EQ(Of("prmt.b32.ecl", "r:rrr", {0x03020100, 0x07060504, 1}), 0x03020101);
  EXPECT_EQ(Of("prmt.b32.ecr", "r:rrr", {0x03020100, 0x07060504, 2}), 0x02020100);
  EXPECT_EQ(Of("prmt.b32.rc16", "r:rrr", {0x03020100, 0x07060504, 1}), 0x03020302);
}

TEST(IsaInteger, DotProductsHaveTheSignsOfTheirTypes) {
  EXPECT_EQ(Of("dp4a.u32.u32", "r:rrr", {0x01020304, 0x05060708, 10}), 80u);
  EXPECT_EQ(Of("dp4a.s32.s32", "r:rrr", {0x000000ff, 0x00000002, 0}), 0xfffffffe);
  EXPECT_EQ(Of("dp4a.u32.s32", "r:rrr", {0x000000ff, 0x000000ff, 0}), 0xffffff01);
  EXPECT_EQ(Of("dp2a.lo.u32.u32", "r:rrr", {0x00020003, 0x04050607, 0}), 33u);
  EXPECT_EQ(Of("dp2a.hi.u32.u32", "r:rrr", {0x00020003, 0x04050607, 0}), 23u);
}

TEST(IsaInteger, ATableOfThreeInputsIsItsOwnResultForItsOwnInputs) {
  for (const uint64_t table : {0x96u, 0x1bu, 0xe8u, 0x01u, 0xfeu}) {
    EXPECT_EQ(Of("lop3.b32", "r:rrri", {0xf0, 0xcc, 0xaa, table}) & 0xff, table);
  }
}

TEST(IsaInteger, TheSignOfTheThirdChooses) {
  EXPECT_EQ(Of("slct.u32.s32", "r:rrr", {1, 2, 0}), 1u);
  EXPECT_EQ(Of("slct.u32.s32", "r:rrr", {1, 2, 0xffffffff}), 2u);
  EXPECT_EQ(Of("slct.u32.f32", "r:rrr", {1, 2, 0x80000000}), 1u);  // -0 is not below 0
  EXPECT_EQ(Of("slct.u32.f32", "r:rrr", {1, 2, 0x7fc00000}), 2u);  // neither is NaN, but it is not above
  EXPECT_EQ(Of("slct.ftz.u32.f32", "r:rrr", {1, 2, 0x80000001}), 1u);
  EXPECT_EQ(Of("slct.u32.f32", "r:rrr", {1, 2, 0x80000001}), 2u);
  EXPECT_EQ(Of("cnot.b32", "r:r", {0}), 1u);
  EXPECT_EQ(Of("cnot.b32", "r:r", {2}), 0u);
}

}  // namespace
}  // namespace tutti::interpreter
