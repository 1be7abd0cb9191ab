// Code of single threads (compiler/threads), end to end. That every case of tests/run gives the same by it, where it is
// for it, is in run_cases_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/testing/quick_kernel.h"
#include "compiler/testing/test_module.h"
#include "cuda/result.h"

namespace tutti::compiler {
namespace {

using testing::HasSubstr;

struct Ran {
  std::vector<uint32_t> out;
  std::optional<GuestFault> fault;
  std::string error;
};

Ran RunQuick(const std::string& ptx, uint32_t threads, uint32_t n = 0) {
  Ran ran{.out = std::vector<uint32_t>(threads), .fault = std::nullopt, .error = ""};
  auto module = TestModule::Open(ptx, Quick());
  if (!module) return {.out = {}, .fault = std::nullopt, .error = module.error().text};
  // The whole window, so that what lies behind is foreign.
  GridLaunch launch{.block = {threads, 1, 1},
                    .window_base = reinterpret_cast<uint64_t>(ran.out.data()),
                    .window_bytes = ran.out.size() * sizeof(uint32_t)};
  const auto result = module->Run("k", launch.Param(ran.out.data()).Param(n));
  if (!result) {
    ran.error = result.error().text;
  } else {
    ran.fault = result->fault;
  }
  return ran;
}

TEST(Quick, IsForLongKernelsOnly) {
  EXPECT_THAT(Obstacle(Kernel("st.global.u32 [%d2], %r1;\n")), HasSubstr("instructions only"));
  EXPECT_EQ(Obstacle(Kernel(Long())), "");
  const std::string ptx = Kernel("");
  auto compiler = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()});
  ASSERT_TRUE(compiler);
  const auto code = (*compiler)->Compile("k", Quick(false));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
}

// Work from a queue: nobody knows how much there is.
TEST(Quick, IsNotForLoopsThatTakeWork) {
  EXPECT_THAT(Obstacle(Kernel(Long() + "take: atom.global.add.u32 %r4, [%d0], 1; setp.ge.u32 %p0, %r4, %r0;\n"
                                       "@%p0 bra done; st.global.u32 [%d2+4096], %r4; bra take;\ndone:\n")),
              HasSubstr("rounds"));
}

TEST(Quick, LanesPrintOneTextAfterTheOther) {
  const std::string call =
      "{ .param .b64 f; st.param.b64 [f], %d3; .param .b64 a; st.param.b64 [a], 0; .param .b32 r;\n"
      "call.uni (r), vprintf, (f, a); }\n";
  auto module =
      TestModule::Open(Kernel("mov.u64 %d3, first; cvta.global.u64 %d3, %d3;\n" + call +
                                  "mov.u64 %d3, second; cvta.global.u64 %d3, %d3;\n" + call,
                              ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                              ".global .align 1 .b8 first[2] = {97, 0};\n.global .align 1 .b8 second[2] = {98, 0};\n"),
                       Quick());
  ASSERT_TRUE(module) << module.error().text;
  const auto result = module->Run("k", GridLaunch{.block = {3, 1, 1}}.Param(uint64_t{0}).Param(uint32_t{0}));
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_EQ(result->output, "aaabbb");
}

// A block that has written something ends in the code that it began with.
TEST(Quick, IsForKernelsWhoseBlocksAreSureToEndSoonOnceTheyWrite) {
  EXPECT_THAT(Obstacle(Kernel(Long() + "mov.u32 %r4, 0;\nround: ld.global.u32 %r5, [%d2]; add.u32 %r5, %r5, %r4;\n"
                                       "mul.wide.u32 %d3, %r4, 4; add.u64 %d3, %d2, %d3;\n"
                                       "st.global.u32 [%d3], %r5; add.u32 %r4, %r4, 1;\n"
                                       "setp.lt.u32 %p0, %r4, %r0; @%p0 bra round;\n")),
              HasSubstr("rounds"));
  EXPECT_EQ(Obstacle(Kernel(Long() + "mov.u32 %r4, 0;\nround: ld.global.u32 %r5, [%d2]; add.u32 %r5, %r5, %r4;\n"
                                     "st.global.u32 [%d2], %r5; add.u32 %r4, %r4, 1;\n"
                                     "setp.lt.u32 %p0, %r4, 100; @%p0 bra round;\n")),
            "");
  // As the lanes of a warp clear memory: the count wraps around zero.
  EXPECT_EQ(Obstacle(Kernel(Long() + "mov.u32 %r4, %laneid; or.b32 %r4, %r4, 0xffffff80;\n"
                                     "round: st.global.u32 [%d2+4096], %r4; add.u32 %r5, %r4, 128;\n"
                                     "setp.lt.s32 %p0, %r4, 0; mov.u32 %r4, %r5; @%p0 bra round;\n")),
            "");
}

TEST(Quick, IsForKernelsThatWaitForOtherBlocks) {
  EXPECT_EQ(Obstacle(Kernel(Long() + "wait: ld.volatile.global.u32 %r4, [%d2]; setp.eq.u32 %p0, %r4, 0;\n"
                                     "@%p0 bra wait;\n")),
            "");
}

TEST(Quick, IsForAtomicUpdatesThatAreRetried) {
  const auto update = [](const std::string& expected) {
    return Kernel(Long() +
                  "ld.global.u32 %r4, [%d0];\n"
                  "retry: mov.u32 %r5, %r4; add.u32 %r6, %r5, %r1; max.u32 %r6, %r6, 7;\n"
                  "atom.global.cas.b32 %r4, [%d0], " +
                  expected +
                  ", %r6; setp.ne.u32 %p0, %r4, %r5;\n"
                  "@%p0 bra retry;\n");
  };
  EXPECT_EQ(Obstacle(update("%r5")), "");
  EXPECT_THAT(Obstacle(update("%r6")), HasSubstr("rounds")) << "it may have been swapped";
}

// They take turns, or meet in many ways, where they are lanes of a warp.
TEST(Quick, IsForShortKernelsWhoseLanesWaitOrMeetOften) {
  EXPECT_EQ(Obstacle(Kernel("take: atom.global.cas.b32 %r2, [%d0], 0, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra take;\n"
                            "st.global.u32 [%d2+4], %r1; st.volatile.global.u32 [%d0], 0;\n")),
            "");
  std::string shuffles = "mov.u32 %r2, %r1;\n";
  for (int i = 0; i < 6; ++i)
    shuffles +=
        "shfl.sync.bfly.b32 %r3, %r2, " + std::to_string(1 << i % 5) + ", 31, 0xffffffff; add.u32 %r2, %r2, %r3;\n";
  EXPECT_EQ(Obstacle(Kernel(shuffles + "st.global.u32 [%d2], %r2;\n")), "");
}

TEST(Quick, IsNotForCallsByAddress) {
  EXPECT_THAT(Obstacle(".version 8.0\n.target sm_80\n.address_size 64\n.func f(.param .b32 x) { ret; }\n"
                       ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p;\n"
                       "ld.param.u64 %d0, [out]; mov.u64 %d1, f; ld.global.u64 %d2, [%d0]; st.global.u64 [%d0], %d1;\n"
                       "mov.u32 %r1, %tid.x;mov.u32 %r0, %r1;mov.u32 %r3, %r1;\n" +
                       std::string("{ .param .b32 a; st.param.b32 [a], %r1;\nproto: .callprototype _ (.param .b32 _);\n"
                                   "call %d2, (a), proto; }\n") +
                       "ret;\n}\n"),
              testing::AnyOf(HasSubstr("it calls"), HasSubstr("instructions only")));
}

TEST(Quick, OptimisedCodeAfterItIsTheSameAsWithoutIt) {
  const std::string ptx = Kernel(Long());
  const auto open = [&] { return *ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()}); };
  CompileOptions optimised{.block = {64, 1, 1}, .target = HostTarget::Detect()}, quick = Quick();
  quick.block = optimised.block;
  const auto alone = open()->Compile("k", optimised);
  auto compiler = open();
  const auto first = compiler->Compile("k", quick);
  const auto second = compiler->Compile("k", optimised);
  ASSERT_TRUE(alone && first && second);
  EXPECT_EQ(*alone, *second);
  EXPECT_NE(*first, *second);
}

// As programs do that were written for warps in lockstep.
TEST(Quick, LanesExchangeThroughSharedMemoryWithoutABarrier) {
  const Ran ran = RunQuick(Kernel("mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
                                  "mul.lo.u32 %r4, %r1, 3; st.shared.u32 [%r2], %r4;\n"
                                  "xor.b32 %r5, %r3, 124; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;\n"
                                  "ld.shared.u32 %r7, [%r6];\n"  // of lane 31 - this
                                  "add.u32 %r7, %r7, 1000; st.shared.u32 [%r2], %r7;\n"
                                  "ld.shared.u32 %r8, [%r6];\n"
                                  "st.global.u32 [%d2], %r8;\n",
                                  ".shared .align 4 .b32 s[32];\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.out[lane], 1000 + 3 * lane) << lane;
}

TEST(Quick, LanesOfDifferentRoundsKeepTogetherBehindTheirLoop) {
  // Lane i goes round i times; then each reads what the last one to leave has stored.
  const Ran ran = RunQuick(Kernel("mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; mov.u32 %r4, 0;\n"
                                  "round: ld.volatile.shared.u32 %r5, [%r2]; add.u32 %r5, %r5, 2;\n"
                                  "st.volatile.shared.u32 [%r2], %r5; add.u32 %r4, %r4, 1;\n"
                                  "setp.le.u32 %p0, %r4, %r1; @%p0 bra round;\n"
                                  "ld.volatile.shared.u32 %r6, [s+124]; st.global.u32 [%d2], %r6;\n",
                                  ".shared .align 4 .b32 s[32];\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.out[lane], 64u) << lane;
}

TEST(Quick, AFaultNamesThreadAddressAndLine) {
  const Ran ran = RunQuick(Kernel("mul.wide.u32 %d1, %r1, 8; add.u64 %d2, %d0, %d1;\nst.global.u32 [%d2], %r1;\n"), 40);
  ASSERT_TRUE(ran.fault) << ran.error;
  EXPECT_EQ(ran.fault->kind, guest::FaultKind::kIllegalAddress);
  EXPECT_EQ(ran.fault->thread, 20u);
  EXPECT_EQ(ran.fault->address, reinterpret_cast<uint64_t>(ran.out.data()) + 160);
  EXPECT_EQ(ran.fault->ptx_line, 10u);
  EXPECT_EQ(ran.out[38], 19u);
}

TEST(Quick, AnAccessThatReachesBeyondTheEndOfTheWindowIsAFault) {
  EXPECT_TRUE(RunQuick(Kernel("add.u64 %d3, %d0, 124; ld.global.u64 %d4, [%d3];\n"
                              "cvt.u32.u64 %r4, %d4; st.global.u32 [%d0], %r4;\n"),
                       32)
                  .fault);
  const Ran misaligned = RunQuick(Kernel("add.u64 %d3, %d2, 2; st.global.u32 [%d3], %r1;\n"), 16);
  ASSERT_TRUE(misaligned.fault);
  EXPECT_EQ(misaligned.fault->kind, guest::FaultKind::kMisalignedAddress);
  EXPECT_TRUE(RunQuick(Kernel("sub.u64 %d3, %d0, 4; atom.global.add.u32 %r3, [%d3], 1;\n"), 1).fault);
  EXPECT_TRUE(RunQuick(Kernel("mov.u32 %r3, 64; st.shared.u32 [%r3+65536], %r1;\n"), 1).fault);
}

TEST(Quick, AWarpOperationNamesTheLanesThatAreElsewhere) {
  const Ran ran = RunQuick(Kernel("setp.lt.u32 %p0, %r1, 3; @%p0 bra.uni low;\n"
                                  "vote.sync.ballot.b32 %r2, %p0, 0xffffffff; bra end;\n"
                                  "low: bar.warp.sync 7;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff;\n"
                                  "end: st.global.u32 [%d2], %r2;\n"),
                           32);
  ASSERT_TRUE(ran.fault) << ran.error;
  EXPECT_THAT(ran.fault->text, HasSubstr("elsewhere"));
}

TEST(Quick, VariablesOfAThreadOutliveItsStops) {
  const Ran ran = RunQuick(Kernel(".local .align 16 .b8 a[64];\n mov.u64 %d3, a; cvta.local.u64 %d3, %d3;\n"
                                  "and.b32 %r2, %r1, 15; mul.wide.u32 %d4, %r2, 4; add.u64 %d4, %d3, %d4;\n"
                                  "mul.lo.u32 %r3, %r1, 7; st.u32 [%d4], %r3; bar.sync 0;\n"
                                  "ld.u32 %r4, [%d4]; add.u32 %r4, %r4, %r2; bar.warp.sync 0xffffffff;\n"
                                  "st.global.u32 [%d2], %r4;\n"),
                           64);
  ASSERT_EQ(ran.error, "");
  for (uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(ran.out[thread], 7 * thread + thread % 16) << thread;
}

// A loop that nothing needs kept LLVM from seeing that the variable is a register until lowering was done.
std::string ReadsWhatWasNeverWritten() {
  return ".local .align 8 .b8 a[16];\n mov.u64 %d3, a; mov.u32 %r2, 0; mov.u64 %d4, 0;\n"
         "round: xor.b64 %d5, %d3, %d4; add.u64 %d3, %d5, 8; add.u64 %d4, %d5, 3;\n"
         "ld.global.u32 %r3, [%d2]; add.u32 %r3, %r3, %r2; st.global.u32 [%d2], %r3;\n"
         "add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 10; @%p0 bra round;\n"
         "ld.local.u64 %d6, [a]; ld.global.u32 %r4, [%d6]; st.global.u32 [%d2], %r4;\n";
}

// An undefined value may be another one at each use: one address would be checked and another one accessed.
TEST(Quick, WhatWasNeverWrittenIsOneValue) {
  const std::string ptx = Kernel(ReadsWhatWasNeverWritten());
  auto compiler = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()});
  ASSERT_TRUE(compiler);
  CompileOptions options = Quick();
  options.until = Stage::kWideIr;
  const auto text = (*compiler)->Compile("k", options);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(std::string(text->begin(), text->end()), testing::Not(HasSubstr("undef")));
  const Ran ran = RunQuick(ptx, 32);
  ASSERT_TRUE(ran.fault) << ran.error;
  EXPECT_EQ(ran.fault->address, 0u);
}

// Values larger than a state's alignment.
TEST(Quick, WideVectorsOutliveStops) {
  const std::string ptx =
      ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
      ".reg .pred %p; .reg .b32 %r<16>; .reg .b64 %d<4>;\n"
      "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4;\n"
      "add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r1; bar.sync 0;\n"
      "ld.global.v8.u32 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}, [%d0];\n"
      "bar.sync 0; setp.ne.u32 %p, %r0, 0; @%p bra end;\n"
      "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r9; add.u32 %r2, %r2, %r1; st.global.u32 [%d1], %r2;\nend: ret;\n}\n";
  alignas(32) static uint32_t out[64];
  auto module = TestModule::Open(ptx, Quick());
  ASSERT_TRUE(module) << module.error().text;
  GridLaunch launch{.block = {64, 1, 1}, .window_base = reinterpret_cast<uint64_t>(out), .window_bytes = sizeof(out)};
  const auto result = module->Run("k", launch.Param(&out[0]).Param(uint32_t{0}));
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_FALSE(result->fault);
  for (uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(out[thread], 8 + thread) << thread;
}

// As programs clear counters and count.
TEST(Quick, LanesKeepTogetherBetweenAStoreAndAnAtomicOperation) {
  const Ran ran = RunQuick(Kernel("mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
                                  "xor.b32 %r4, %r3, 4; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;\n"
                                  "st.shared.u32 [%r2], 100; red.shared.add.u32 [%r5], 7;\n"
                                  "ld.shared.u32 %r6, [%r2]; st.global.u32 [%d2], %r6;\n",
                                  ".shared .align 4 .b32 s[32];\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.out[lane], 107u) << lane;
}

// Lanes that have left a loop in its middle, too, wait for those that go on in it.
TEST(Quick, LanesKeepTogetherBehindALoopThatIsLeftInItsMiddle) {
  const Ran ran = RunQuick(Kernel("mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; mov.u32 %r4, 0;\n"
                                  "round: activemask.b32 %r7; ld.volatile.shared.u32 %r5, [%r2]; add.u32 %r5, %r5, 2;\n"
                                  "st.volatile.shared.u32 [%r2], %r5; setp.lt.u32 %p0, %r4, %r1;\n"
                                  "@%p0 bra more; bra out;\n"
                                  "more: ld.volatile.shared.u32 %r5, [%r2]; add.u32 %r5, %r5, 1;\n"
                                  "st.volatile.shared.u32 [%r2], %r5; add.u32 %r4, %r4, 1; bra round;\n"
                                  "out: ld.volatile.shared.u32 %r6, [s+124]; st.global.u32 [%d2], %r6;\n",
                                  ".shared .align 4 .b32 s[32];\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.out[lane], 2u * 32 + 31) << lane;
}

// Odd lanes, that have no stop in a round, read in each what the even ones have stored in the one before.
TEST(Quick, NoLaneRunsRoundsAheadOfTheOthers) {
  const Ran ran = RunQuick(Kernel("mov.u32 %r2, s; shl.b32 %r3, %r1, 2; xor.b32 %r4, %r3, 4; add.u32 %r4, %r2, %r4;\n"
                                  "add.u32 %r2, %r2, %r3; and.b32 %r5, %r1, 1; setp.ne.u32 %p0, %r5, 0;\n"
                                  "mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
                                  "round: ld.volatile.shared.u32 %r8, [%r2]; add.u32 %r7, %r7, %r8;\n"
                                  "add.u32 %r6, %r6, 1; @%p0 bra odd; st.volatile.shared.u32 [%r4], %r6;\n"
                                  "odd: setp.lt.u32 %p1, %r6, 10; @%p1 bra round; st.global.u32 [%d2], %r7;\n",
                                  ".shared .align 4 .b32 s[32];\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.out[lane], lane % 2 != 0 ? 45u : 0u) << lane;
}

// Keys of a grid, as many as there are, go into a hash table.
TEST(Quick, IsNotForLoopsThatOnlyContainLoopsThatWait) {
  EXPECT_THAT(Obstacle(Kernel(Long() + "mov.u32 %r4, %r1;\n"
                                       "key: and.b32 %r5, %r4, 1023;\n"
                                       "slot: mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3;\n"
                                       "atom.global.cas.b32 %r6, [%d3], 0, 7;\n"
                                       "setp.eq.u32 %p0, %r6, 0; @%p0 bra next;\n"
                                       "add.u32 %r5, %r5, 1; and.b32 %r5, %r5, 1023; bra slot;\n"
                                       "next: add.u32 %r4, %r4, 64; setp.lt.u32 %p1, %r4, %r0; @%p1 bra key;\n")),
              HasSubstr("rounds"));
}

TEST(Quick, IsNotForLoopsOfSeveralEntries) {
  EXPECT_NE(
      Obstacle(Kernel(Long() + "mov.u32 %r4, 0; setp.eq.u32 %p0, %r1, 3; @%p0 bra second;\n"
                               "first: ld.global.u32 %r5, [%d2]; add.u32 %r5, %r5, %r4; st.global.u32 [%d2], %r5;\n"
                               "second: ld.global.u32 %r6, [%d2+4]; add.u32 %r6, %r6, %r4;\n"
                               "st.global.u32 [%d2+4], %r6; add.u32 %r4, %r4, 1;\n"
                               "setp.lt.u32 %p1, %r4, %r0; @%p1 bra first;\n")),
      "");
}

// Only one lane sleeps, and the one that has the lock waits for the others.
TEST(Quick, LanesThatWaitForALockSleepOrNot) {
  const Ran ran = RunQuick(Kernel("try: atom.shared.cas.b32 %r2, [lock], 0, 1; setp.eq.u32 %p0, %r2, 0; @%p0 bra has;\n"
                                  "setp.ne.u32 %p1, %r1, 31; @%p1 bra try; nanosleep.u32 20; bra try;\n"
                                  "has: ld.volatile.shared.u32 %r3, [sum]; add.u32 %r3, %r3, %r1;\n"
                                  "st.volatile.shared.u32 [sum], %r3; ld.volatile.shared.u32 %r4, [sum];\n"
                                  "atom.shared.exch.b32 %r2, [lock], 0; st.global.u32 [%d2], %r4;\n",
                                  ".shared .align 4 .b32 lock; .shared .align 4 .b32 sum;\n"),
                           32);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.out[0], 0u);
}

// The edges of one switch to one block.
TEST(Quick, AVariableComesByTwoEdgesOfOneBranch) {
  const Ran ran = RunQuick(Kernel(".local .align 8 .b8 a[64]; .local .align 8 .b8 b[64];\n"
                                  "and.b32 %r2, %r1, 3; mov.u64 %d3, a; mov.u64 %d4, b;\n"
                                  "ways: .branchtargets both, other, both, other;\nbrx.idx %r2, ways;\n"
                                  "other: mov.u64 %d3, %d4; st.global.u32 [%d2], %r1;\n"
                                  "both: mul.wide.u32 %d5, %r2, 4; add.u64 %d5, %d3, %d5; st.local.u32 [%d5], %r1;\n"
                                  "bar.sync 0; ld.local.u32 %r4, [%d5]; st.global.u32 [%d2], %r4;\n"),
                           64);
  ASSERT_EQ(ran.error, "");
  for (uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(ran.out[thread], thread) << thread;
}

}  // namespace
}  // namespace tutti::compiler
