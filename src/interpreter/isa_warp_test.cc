// Warp operations, barriers and atomics, as the PTX ISA (9.7.9.6, 9.7.13) defines them. Every value is worked out by
// hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "interpreter/one_instruction.h"

namespace tutti::interpreter {
namespace {

// Of each lane: what the shuffle of lane numbers gives, and the predicate in bit 8.
std::vector<uint32_t> Shuffled(const std::string& mode, uint32_t by, uint32_t clamp) {
  return OfLanes("shfl.sync." + mode + ".b32 %r0|%p0, %lane, " + std::to_string(by) + ", " + std::to_string(clamp) +
                 ", -1;\n@%p0 or.b32 %r0, %r0, 256;");
}

TEST(IsaWarp, AShuffleOutOfItsSegmentKeepsTheOwnValue) {
  const auto up = Shuffled("up", 1, 0);
  EXPECT_EQ(up[0], 0u);
  EXPECT_EQ(up[1], 256u + 0);
  const auto down = Shuffled("down", 1, 31);
  EXPECT_EQ(down[31], 31u);
  EXPECT_EQ(down[0], 256u + 1);
  const auto bound = Shuffled("down", 2, 7);  // no lane above 7
  EXPECT_EQ(bound[5], 256u + 7);
  EXPECT_EQ(bound[6], 6u);
  EXPECT_EQ(bound[20], 20u);
}

TEST(IsaWarp, SegmentsShuffleByThemselves) {
  const uint32_t eights = 0x181f;
  const auto index = Shuffled("idx", 9, eights);  // lane 1 of each eight
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(index[lane], 256 + (lane & 24) + 1);
  const auto up = Shuffled("up", 3, 0x1800);
  EXPECT_EQ(up[8], 8u);
  EXPECT_EQ(up[11], 256u + 8);
  const auto across = Shuffled("bfly", 16, eights);  // bounds are checked above only
  EXPECT_EQ(across[0], 0u);
  EXPECT_EQ(across[16], 256u + 0);
}

TEST(IsaWarp, AShuffleTakesFiveBitsOfTheLane) {
  const auto index = Shuffled("idx", 33, 31);
  EXPECT_EQ(index[7], 256u + 1);
}

TEST(IsaWarp, VotesAreOfTheMembers) {
  const auto ballot = OfLanes(
      "setp.lt.u32 %p0, %lane, 4;\nmov.b32 %r0, 0;\nsetp.ge.u32 %p1, %lane, 2;\n@!%p1 bra end;\nvote.sync.ballot.b32 "
      "%r0, %p0, 0xfffffffc;\nend:");
  EXPECT_EQ(ballot[0], 0u);
  EXPECT_EQ(ballot[2], 0xcu);
  const auto uniform =
      OfLanes("setp.lt.u32 %p0, %lane, 32;\nvote.sync.uni.pred %p1, !%p0, -1;\nselp.b32 %r0, 1, 0, %p1;");
  EXPECT_EQ(uniform[9], 1u);
  const auto all = OfLanes(
      "setp.ne.u32 %p0, %lane, 7;\nvote.sync.all.pred %p1, %p0, -1;\nvote.sync.any.pred %p2, !%p0, -1;\nselp.b32 %r0, "
      "1, 0, %p1;\n@%p2 or.b32 %r0, %r0, 2;");
  EXPECT_EQ(all[0], 2u);
}

TEST(IsaWarp, WhoHasExitedIsNotWaitedFor) {
  const auto left = OfLanes(
      "setp.lt.u32 %p0, %lane, 3;\nmov.b32 %r0, 9;\nst.global.b32 [out], %r0;\n@%p0 exit;\nredux.sync.add.u32 %r0, "
      "%lane, -1;");
  EXPECT_EQ(left[0], 9u);
  EXPECT_EQ(left[3], 496u - 3);
}

TEST(IsaWarp, EqualValuesMatch) {
  const auto any = OfLanes("and.b32 %r1, %lane, 1;\nmatch.any.sync.b32 %r0, %r1, -1;");
  EXPECT_EQ(any[4], 0x55555555u);
  EXPECT_EQ(any[5], 0xaaaaaaaau);
  const auto none = OfLanes("match.all.sync.b32 %r0|%p0, %lane, -1;\n@%p0 mov.b32 %r0, 7;");
  EXPECT_EQ(none[3], 0u);
  const auto all = OfLanes("mov.b32 %r1, 5;\nmatch.all.sync.b32 %r0|%p0, %r1, -1;\n@!%p0 mov.b32 %r0, 7;");
  EXPECT_EQ(all[3], 0xffffffffu);
}

TEST(IsaWarp, ReductionsWrapAndLeaveNanOut) {
  EXPECT_EQ(OfLanes("redux.sync.add.u32 %r0, 0x10000000, -1;")[0], 0u);
  EXPECT_EQ(OfLanes("sub.s32 %r1, 16, %lane;\nredux.sync.min.s32 %r0, %r1, -1;")[31], 0xfffffff1u);
  EXPECT_EQ(OfLanes("sub.s32 %r1, 16, %lane;\nredux.sync.max.u32 %r0, %r1, -1;")[31], 0xffffffffu);
  const std::string some_nan = "setp.eq.u32 %p0, %lane, 3;\nselp.b32 %r1, 0x7fc00000, 0xbf800000, %p0;\n";
  EXPECT_EQ(OfLanes(some_nan + "redux.sync.max.f32 %r0, %r1, -1;")[0], 0xbf800000u);
  EXPECT_EQ(OfLanes(some_nan + "redux.sync.max.NaN.f32 %r0, %r1, -1;")[0], 0x7fffffffu);
  EXPECT_EQ(OfLanes(some_nan + "redux.sync.max.abs.f32 %r0, %r1, -1;")[0], 0x3f800000u);
}

TEST(IsaWarp, LanesMeetWhereverTheyAreInTheProgram) {
  const auto met = OfLanes(
      "setp.lt.u32 %p0, %lane, 16;\n@%p0 bra low;\nshfl.sync.bfly.b32 %r0, %lane, 16, 31, -1;\nbra "
      "end;\nlow:\nshfl.sync.bfly.b32 %r0, %lane, 16, 31, -1;\nend:");
  EXPECT_EQ(met[0], 16u);
  EXPECT_EQ(met[31], 15u);
  const auto halves = OfLanes(
      "setp.lt.u32 %p0, %lane, 16;\n@%p0 bra low;\nredux.sync.add.u32 %r0, 1, 0xffff0000;\nbra "
      "end;\nlow:\nredux.sync.add.u32 %r0, 2, 0xffff;\nend:");
  EXPECT_EQ(halves[0], 32u);
  EXPECT_EQ(halves[16], 16u);
}

TEST(IsaWarp, OneOfTheMembersIsElected) {
  const auto elected = OfLanes("elect.sync %r1|%p0, -1;\nselp.b32 %r0, 1, 0, %p0;");
  EXPECT_EQ(std::ranges::count(elected, 1u), 1);
}

TEST(IsaWarp, ABarrierReducesOverItsThreads) {
  const std::string below40 = "setp.lt.u32 %p0, %lane, 40;\n";
  EXPECT_EQ(OfLanes(below40 + "bar.red.popc.u32 %r0, 3, %p0;", 64)[50], 40u);
  EXPECT_EQ(OfLanes(below40 + "bar.red.popc.u32 %r0, 3, !%p0;", 64)[0], 24u);
  EXPECT_EQ(OfLanes(below40 + "bar.red.and.pred %p1, 3, %p0;\nselp.b32 %r0, 1, 0, %p1;", 64)[0], 0u);
  EXPECT_EQ(OfLanes(below40 + "bar.red.or.pred %p1, 3, %p0;\nselp.b32 %r0, 1, 0, %p1;", 64)[63], 1u);
}

TEST(IsaWarp, PartsOfAWarpMayWaitForABarrierInDifferentPlaces) {
  const auto met = OfLanes(
      "setp.lt.u32 %p0, %lane, 5;\nmov.u32 %r1, cells;\nmad.lo.u32 %r2, %lane, 4, %r1;\nst.shared.u32 [%r2], "
      "%lane;\n@%p0 bra low;\nbarrier.sync 1;\nbra end;\nlow:\nbarrier.sync 1;\nend:\nld.shared.u32 %r0, [%r1+28];");
  for (const uint32_t value : met) EXPECT_EQ(value, 7u);
}

TEST(IsaWarp, CountersWrapAtTheirLimit) {
  const auto after = [](const std::string& update, uint32_t before) {
    return OfLanes("mov.b32 %r1, " + std::to_string(before) + ";\nst.shared.u32 [cells], %r1;\n" + update +
                       "\nshl.b32 %r2, %r1, 8;\nld.shared.u32 %r3, [cells];\nor.b32 %r0, %r2, %r3;",
                   1)[0];
  };
  EXPECT_EQ(after("atom.shared.inc.u32 %r1, [cells], 5;", 5), 0x500u);
  EXPECT_EQ(after("atom.shared.inc.u32 %r1, [cells], 5;", 3), 0x304u);
  EXPECT_EQ(after("atom.shared.dec.u32 %r1, [cells], 5;", 0), 0x005u);
  EXPECT_EQ(after("atom.shared.dec.u32 %r1, [cells], 5;", 9), 0x905u);
  EXPECT_EQ(after("atom.shared.cas.b32 %r1, [cells], 7, 2;", 7), 0x702u);
  EXPECT_EQ(after("atom.shared.cas.b32 %r1, [cells], 7, 2;", 6), 0x606u);
}

}  // namespace
}  // namespace tutti::interpreter
