// Blocks of quick code that begin anew in better code (compiler/threads/renewal.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/testing/quick_kernel.h"
#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

using testing::HasSubstr;

std::string Loop(const std::string& body) {
  return "mov.u32 %r4, 0;\nround: add.u32 %r4, %r4, 1;\n" + body + "setp.lt.u32 %p0, %r4, %r0; @%p0 bra round;\n";
}

TEST(QuickLoops, IsForLoopsWithoutBoundsInFrontOfAllThatOthersCanSee) {
  const std::string variable = ".shared .align 4 .b32 s[64];\n";
  const std::string shared = "atom.shared.add.u32 %r5, [s], %r4; st.shared.u32 [s+4], %r5;\n";
  EXPECT_EQ(Obstacle(Kernel(Loop(shared + "ld.global.u32 %r5, [%d2]; xor.b32 %r3, %r3, %r5; bar.sync 0;\n") + Long(),
                            variable)),
            "");
  EXPECT_THAT(Obstacle(Kernel(Long() + Loop(shared), variable)), HasSubstr("rounds"));
  EXPECT_THAT(Obstacle(Kernel("red.global.add.u32 [%d2], 1;\n" + Loop(shared) + Long(), variable)),
              HasSubstr("rounds"));
  EXPECT_THAT(Obstacle(Kernel("st.u32 [%d2], 1;\n" + Loop(shared) + Long(), variable)), HasSubstr("rounds"));
  EXPECT_THAT(Obstacle(Kernel(Loop("mov.u32 %r6, 0;\ninner: red.shared.add.u32 [s], %r6; add.u32 %r6, %r6, 1;\n"
                                   "setp.lt.u32 %p1, %r6, %r4; @%p1 bra inner; st.global.u32 [%d2], %r6;\n") +
                                  Long(),
                              variable)),
              HasSubstr("rounds"));
}

// Each thread counts `n` rounds in shared memory, then all that have counted in global memory.
std::string CountsInRounds() {
  return Kernel("mov.u32 %r2, s; setp.ne.u32 %p1, %r1, 0; @%p1 bra clean; st.shared.u32 [s], 0; clean: bar.sync 0;\n" +
                    Loop("red.shared.add.u32 [s], 1;\n") +
                    "bar.sync 0; ld.shared.u32 %r5, [s]; red.global.add.u32 [%d2], %r5;\n",
                ".shared .align 4 .b32 s;\n");
}

struct RanAnew {
  std::vector<uint32_t> out;
  uint64_t begun_anew = 0;
  std::string error;
};

RanAnew RunAnew(const std::string& ptx, uint32_t blocks, uint32_t threads, uint32_t n,
                NewerCode when = NewerCode::kAtOnce) {
  RanAnew ran{.out = std::vector<uint32_t>(threads), .error = ""};
  auto module = TestModule::Open(ptx, Quick());
  if (!module) return {.out = {}, .error = module.error().text};
  GridLaunch launch{.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .newer_code = when};
  const auto result = module->Run("k", launch.Param(ran.out.data()).Param(n));
  if (!result) return {.out = {}, .error = result.error().text};
  ran.begun_anew = result->begun_anew;
  return ran;
}

TEST(QuickLoops, BlocksBeginAnewWhereTheyHaveWrittenNothing) {
  for (const NewerCode when : {NewerCode::kAtOnce, NewerCode::kNowAndThen}) {
    const RanAnew ran = RunAnew(CountsInRounds(), 3, 96, 1000, when);
    ASSERT_EQ(ran.error, "");
    for (uint32_t thread = 0; thread < 96; ++thread) EXPECT_EQ(ran.out[thread], 3u * 96 * 1000) << thread;
    if (when == NewerCode::kAtOnce) {
      EXPECT_EQ(ran.begun_anew, 3u);
    }
  }
}

// The rounds behind it, where they look for newer code else, are few.
TEST(QuickLoops, ABlockThatHasPrintedDoesNotBeginAnew) {
  CompileOptions options = Quick();
  options.quick_renews_all = true;
  auto module = TestModule::Open(
      Kernel("mov.u64 %d3, text; cvta.global.u64 %d3, %d3;\n"
             "{ .param .b64 f; st.param.b64 [f], %d3; .param .b64 a; st.param.b64 [a], 0; .param .b32 r;\n"
             "call.uni (r), vprintf, (f, a); }\nmov.u32 %r0, 5;\n" +
                 Loop("red.shared.add.u32 [s], 1;\n"),
             ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); .shared .align 4 .b32 s;\n"
             ".global .align 1 .b8 text[2] = {97, 0};\n"),
      options);
  ASSERT_TRUE(module) << module.error().text;
  GridLaunch launch{.block = {3, 1, 1}, .newer_code = NewerCode::kAtOnce};
  const auto result = module->Run("k", launch.Param(uint64_t{0}).Param(uint32_t{0}));
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_EQ(result->output, "aaa");
  EXPECT_EQ(result->begun_anew, 1u) << "in front of the text";
}

// The first warp has no rounds.
TEST(QuickLoops, NoThreadWritesBeforeTheOthersOfItsBlockHaveLeftTheirLoops) {
  const RanAnew ran = RunAnew(Kernel("red.global.add.u32 [%d2], 1;\n"), 2, 64, 0);
  EXPECT_EQ(ran.begun_anew, 0u) << "it is sure to end soon";
  const RanAnew apart =
      RunAnew(Kernel("setp.lt.u32 %p2, %r1, 32; @%p2 bra write;\n" + Loop("red.shared.add.u32 [s], 1;\n") +
                         "write: red.global.add.u32 [%d2], 1;\n",
                     ".shared .align 4 .b32 s;\n"),
              2, 64, 50);
  ASSERT_EQ(apart.error, "");
  EXPECT_EQ(apart.begun_anew, 2u);
  for (uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(apart.out[thread], 2u) << thread;
}

// Lanes that wait for each other's writes, in a warp and from warp to warp.
TEST(QuickLoops, LanesThatWaitForWhatOthersWriteBeginToWrite) {
  const RanAnew ran = RunAnew(Kernel(Loop("red.shared.add.u32 [s], 1;\n") +
                                         "setp.eq.u32 %p1, %r1, 5; @%p1 bra first;\n"
                                         "wait: ld.volatile.global.u32 %r6, [%d0+20]; setp.eq.u32 %p2, %r6, 0;\n"
                                         "@%p2 bra wait; st.global.u32 [%d2], %r1; bra end;\n"
                                         "first: st.volatile.global.u32 [%d2], 77;\nend:\n",
                                     ".shared .align 4 .b32 s;\n"),
                              1, 96, 50);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.begun_anew, 1u);
  for (uint32_t thread = 0; thread < 96; ++thread) EXPECT_EQ(ran.out[thread], thread == 5 ? 77 : thread) << thread;
}

// It does work in its rounds, and is left by what others write.
TEST(QuickLoops, ALoopThatLooksLikeWaitingLooksForNewerCode) {
  const RanAnew ran = RunAnew(Kernel("mov.u32 %r2, s; st.shared.u32 [s], 0; mov.u32 %r4, 0;\n"
                                     "round: add.u32 %r4, %r4, 1; red.shared.add.u32 [s], 1;\n"
                                     "ld.volatile.shared.u32 %r5, [s]; setp.lt.u32 %p0, %r5, %r0; @%p0 bra round;\n",
                                     ".shared .align 4 .b32 s;\n"),
                              2, 64, 5000);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.begun_anew, 2u);
}

// The first warp's write ends the rounds of the others, which meet at a barrier in each. No newer code is to come.
TEST(QuickLoops, WhereNothingIsToComeNoThreadWaitsToWrite) {
  const RanAnew ran = RunAnew(Kernel("setp.lt.u32 %p2, %r1, 32; @%p2 bra write;\n" +
                                     Loop("bar.sync 1, 64; ld.volatile.global.u32 %r5, [%d0];\n"
                                          "setp.ne.u32 %p1, %r5, 0; @%p1 bra write;\n") +
                                     "write: add.u32 %r4, %r4, 7; st.volatile.global.u32 [%d2], %r4;\n"),
                              1, 96, 1000, NewerCode::kNever);
  ASSERT_EQ(ran.error, "");
  for (uint32_t thread = 32; thread < 96; ++thread) EXPECT_EQ(ran.out[thread], 8u) << thread;
}

}  // namespace
}  // namespace tutti::compiler
