// Which lanes run what: cases of divergence that random kernels do not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/widen/testing/test_kernel.h"
#include "guest/exec/guest_services.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GridResult RunOn(const std::string& ir, const GridLaunch& launch) {
  TestTarget target;
  std::copy(launch.block.begin(), launch.block.end(), target.block);
  auto kernel = BuildWarps(ir, target);
  EXPECT_TRUE(kernel) << kernel.error().text;
  return kernel ? RunGrid(kernel->descriptor(), launch) : GridResult{};
}

TEST(Control, AComparisonAtAWarpsEdgeNeedsNoMask) {
  const std::string ir = KernelText(R"(
  %big = icmp ugt i32 %tx, 63
  br i1 %big, label %store, label %done
store:
  %to = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  const auto text = WidenText(ir, {.block = {128, 1, 1}, .check_addresses = false});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, Not(HasSubstr("x i1>")));
}

TEST(Control, LanesMeetAgainBehindTheBranch) {
  // p0[t] = the lanes that are there after `if (t & 1)`, p1[t] = the lanes that are in it.
  const std::string ir = KernelText(R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %odd = trunc i32 %tx to i1
  br i1 %odd, label %in, label %after
in:
  %here = call i32 @tutti.activemask()
  %ia = add i64 %p1, %b
  %ip = inttoptr i64 %ia to ptr addrspace(1)
  store i32 %here, ptr addrspace(1) %ip
  br label %after
after:
  %all = call i32 @tutti.activemask()
  %aa = add i64 %p0, %b
  %ap = inttoptr i64 %aa to ptr addrspace(1)
  store i32 %all, ptr addrspace(1) %ap
  ret void
)");
  std::vector<uint32_t> after(32), in(32);
  RunOn(ir, GridLaunch{.block = {32, 1, 1}}.Param(after.data()).Param(in.data()).Param(uint64_t{0}).Param(0u));
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(after[i], ~0u);
    EXPECT_EQ(in[i], i % 2 != 0 ? 0xaaaaaaaau : 0u);
  }
}

// Every lane takes the lock at p0, adds to the plain counter at p1 and releases the lock: lane by lane, or for ever.
TEST(Control, LanesOfAWarpTakeALockOneAfterTheOther) {
  const std::string ir = KernelText(R"(
  %lock = inttoptr i64 %p0 to ptr addrspace(1)
  %counter = inttoptr i64 %p1 to ptr addrspace(1)
  br label %round
round:
  %i = phi i32 [ 0, %0 ], [ %next, %release ]
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %hold, label %try
hold:
  %old = load i32, ptr addrspace(1) %counter
  %add = add i32 %tx, 1
  %new = add i32 %old, %add
  store i32 %new, ptr addrspace(1) %counter
  br label %release
release:
  %was = atomicrmw xchg ptr addrspace(1) %lock, i32 0 monotonic
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %round, label %done
done:
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a = add i64 %p2, %b
  %to = inttoptr i64 %a to ptr addrspace(1)
  store i32 %old, ptr addrspace(1) %to
  ret void
)");
  uint32_t lock = 0, counter = 0;
  std::vector<uint32_t> last(64);
  RunOn(ir, GridLaunch{.block = {64, 1, 1}}.Param(&lock).Param(&counter).Param(last.data()).Param(3u));
  EXPECT_EQ(counter, 3u * (64 * 65 / 2));
  // Each lane saw a different sum when it held the lock last, and keeps what it saw.
  std::sort(last.begin(), last.end());
  EXPECT_EQ(std::unique(last.begin(), last.end()), last.end());
}

// The block that holds the lock runs 32 times: each lane keeps what it computed there, and all meet at the barrier.
TEST(Control, WhatALaneSawUnderTheLockStaysItsOwn) {
  const std::string ir = KernelText(R"(
  %lock = inttoptr i64 %p0 to ptr addrspace(1)
  %counter = inttoptr i64 %p1 to ptr addrspace(1)
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %hold, label %try
hold:
  %old = load i32, ptr addrspace(1) %counter
  %new = add i32 %old, 1
  store i32 %new, ptr addrspace(1) %counter
  %was = atomicrmw xchg ptr addrspace(1) %lock, i32 0 monotonic
  %some = icmp ne i32 %n, 0
  br i1 %some, label %after, label %done
after:
  call void @tutti.warp_barrier(i32 -1)
  %all = call i32 @tutti.activemask()
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a = add i64 %p2, %b
  %to = inttoptr i64 %a to ptr addrspace(1)
  %both = and i32 %all, %old
  store i32 %both, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  uint32_t lock = 0, counter = 0;
  std::vector<uint32_t> seen(32);
  RunOn(ir, GridLaunch{.block = {32, 1, 1}}.Param(&lock).Param(&counter).Param(seen.data()).Param(1u));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(seen[i], i);
}

// Turns are slow, so code that needs none must have none.
std::string WidenedForWaiting(const std::string& body) {
  const auto text = WidenText(KernelText(body), {.block = {64, 1, 1}, .optimize = 0});
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : "";
}

TEST(Control, OneLaneThatWaitsWhileTheOthersStandAtTheBarrierTakesNoTurns) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %one = icmp eq i32 %tx, 0
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  br i1 %one, label %wait, label %all
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp eq i32 %seen, %n
  br i1 %again, label %wait, label %all
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  store i32 1, ptr addrspace(1) %word
  ret void
)"),
              Not(HasSubstr(kTurns)));
}

// After a yield the warp would have to be scheduled again before it acts on what it has seen.
TEST(Control, AWarpThatFindsWhatItWaitsForLetsNobodyRunFirst) {
  const std::string ir = KernelText(R"(
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  br label %wait
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp ne i32 %seen, %n
  br i1 %again, label %wait, label %all
all:
  store i32 1, ptr addrspace(1) %word
  ret void
)");
  uint32_t word = 7;
  const GridResult result =
      RunOn(ir, GridLaunch{.block = {32, 1, 1}}.Param(&word).Param(uint64_t{0}).Param(uint64_t{0}).Param(7u));
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(result.yields, 0u);
}

TEST(Control, AWarpThatWaitsAsAWholeTakesNoTurns) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  br label %wait
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp eq i32 %seen, %n
  br i1 %again, label %wait, label %all
all:
  store i32 1, ptr addrspace(1) %word
  ret void
)"),
              Not(HasSubstr(kTurns)));
}

TEST(Control, LanesThatWaitForALaneOnTheOtherWayTakeTurns) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %one = icmp eq i32 %tx, 0
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  br i1 %one, label %wait, label %all
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp eq i32 %seen, %n
  br i1 %again, label %wait, label %all
all:
  store i32 1, ptr addrspace(1) %word
  ret void
)"),
              HasSubstr(kTurns));
}

TEST(Control, AnUpdateThatTriesAgainTakesNoTurns) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  %first = load i32, ptr addrspace(1) %word
  br label %try
try:
  %old = phi i32 [ %first, %0 ], [ %seen, %try ]
  %new = mul i32 %old, 3
  %pair = cmpxchg ptr addrspace(1) %word, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue { i32, i1 } %pair, 0
  %done = extractvalue { i32, i1 } %pair, 1
  br i1 %done, label %all, label %try
all:
  store i32 1, ptr addrspace(1) %word
  ret void
)"),
              Not(HasSubstr(kTurns)));
}

// The member masks change from iteration to iteration of a loop that is interrupted between turns: as in a sort whose
// lanes find those with the same digit bit by bit, and then look back at other blocks.
TEST(Control, MembersThatChangeFromRoundToRoundAreKnownAtEachTurn) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %one = icmp eq i32 %tx, 0
  %word = inttoptr i64 %p0 to ptr addrspace(1)
  br i1 %one, label %wait, label %meet
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp eq i32 %seen, %n
  br i1 %again, label %wait, label %meet
meet:
  %members = phi i32 [ -1, %0 ], [ -1, %wait ], [ %fewer, %meet ]
  call void @tutti.warp_barrier(i32 %members)
  %fewer = lshr i32 %members, 1
  %more = icmp ne i32 %fewer, 0
  br i1 %more, label %meet, label %all
all:
  store i32 1, ptr addrspace(1) %word
  ret void
)"),
              HasSubstr(kTurns));
}

TEST(Control, LanesThatLeftDoNotHoldUpABarrier) {
  const std::string ir = KernelText(R"(
  %gone = icmp ult i32 %tx, %n
  br i1 %gone, label %leave, label %stay
leave:
  call void @tutti.exit()
  unreachable
stay:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  %to = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %to
  ret void
)");
  for (const uint32_t gone : {5u, 32u, 40u}) {
    uint32_t done = 0;
    const GridResult result =
        RunOn(ir, GridLaunch{.block = {64, 1, 1}}.Param(&done).Param(uint64_t{0}).Param(uint64_t{0}).Param(gone));
    EXPECT_FALSE(result.fault);
    EXPECT_EQ(done, 1u) << gone;
  }
}

TEST(Control, AKernelSaysWhetherItEndsLanes) {
  const auto flags = [](const std::string& body) {
    auto kernel = BuildWarps(KernelText(body), {.block = {64, 1, 1}});
    EXPECT_TRUE(kernel) << kernel.error().text;
    return kernel ? kernel->descriptor().flags & guest::kEndsLanes : 0;
  };
  const std::string leave = "  %gone = icmp ult i32 %tx, %n\n  br i1 %gone, label %leave, label %stay\nleave:\n";
  EXPECT_EQ(flags("  ret void\n"), 0u);
  EXPECT_EQ(flags(leave + "  ret void\nstay:\n  ret void\n"), 0u) << "nobody asks who is there";
  EXPECT_EQ(flags(leave + "  ret void\nstay:\n  call void @tutti.barrier(i32 0, i32 0, i1 true)\n  ret void\n"),
            guest::kEndsLanes);
}

TEST(Control, WhatCannotBeWidenedIsNamed) {
  const std::string ir = KernelText("  call void @tutti.nonsense()\n  ret void\n") + "declare void @tutti.nonsense()\n";
  const auto text = WidenText(ir, {.block = {32, 1, 1}});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().text, HasSubstr("tutti.nonsense"));
}

// Half of the warp executes an operation that names all lanes; the other half has a store and a barrier before it.
GridResult RunInABranch(const std::string& operation, const std::string& condition = "icmp ult i32 %tx, 16") {
  const std::string ir = KernelText(R"(
  %some = )" + condition + R"(
  br i1 %some, label %in, label %after
in:
  )" + operation + R"(
  br label %after
after:
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a = add i64 %p0, %b
  %to = inttoptr i64 %a to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %to
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  ret void
)");
  std::vector<uint32_t> out(32);
  return RunOn(ir, GridLaunch{.block = {32, 1, 1}}.Param(out.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u));
}

TEST(Control, NamingLanesThatAreElsewhereIsAFaultThatNamesTheOperation) {
  const std::pair<guest::WarpMistake, const char*> kOperations[] = {
      {guest::WarpMistake::kShuffle, "%x = call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 0, i32 31)"},
      {guest::WarpMistake::kVote, "%x = call i32 @tutti.ballot(i32 -1, i1 true)"},
      {guest::WarpMistake::kMatch, "%x = call i32 @tutti.match.any.i32(i32 -1, i32 %tx)"},
      {guest::WarpMistake::kRedux, "%x = call i32 @tutti.redux.add(i32 -1, i32 %tx)"},
      {guest::WarpMistake::kElect, "%x = call i1 @tutti.elect(i32 -1)"},
      {guest::WarpMistake::kWarpBarrier, "call void @tutti.warp_barrier(i32 -1)"},
  };
  for (const auto& [mistake, operation] : kOperations) {
    SCOPED_TRACE(operation);
    const GridResult result = RunInABranch(operation);
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, guest::FaultKind::kLaunchFailed);
    EXPECT_EQ(result.fault->text, guest::TextOf(mistake));
    EXPECT_EQ(result.fault->lanes, 0xffff0000u);
  }
}

// One way shuffles, the other votes first: no lane goes on before the fault.
TEST(Control, LanesOnTwoWaysThatNameEachOtherAndNeverMeetAreAFaultThatNamesTheOperation) {
  const std::string ir = KernelText(R"(
  %low = icmp ult i32 %tx, 16
  br i1 %low, label %in, label %out
in:
  %x = call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 0, i32 31)
  br label %after
out:
  %y = call i32 @tutti.ballot(i32 -1, i1 true)
  %z = call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 0, i32 31)
  br label %after
after:
  %to = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %to
  ret void
)");
  uint32_t done = 0;
  const GridResult result =
      RunOn(ir, GridLaunch{.block = {32, 1, 1}}.Param(&done).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, guest::FaultKind::kLaunchFailed);
  const bool shuffles = result.fault->text == guest::TextOf(guest::WarpMistake::kShuffle);
  EXPECT_TRUE(shuffles || result.fault->text == guest::TextOf(guest::WarpMistake::kVote));
  EXPECT_EQ(result.fault->lanes, shuffles ? 0xffff0000u : 0x0000ffffu);
  EXPECT_EQ(done, 0u);
}

TEST(Control, LanesThatMayNotComeToAnOperationOfTheSameKindElsewhereTakeNoTurns) {
  EXPECT_THAT(WidenedForWaiting(R"(
  %some = icmp ult i32 %tx, %n
  br i1 %some, label %in, label %after
in:
  %x = call i32 @tutti.redux.add(i32 -1, i32 %tx)
  br label %after
after:
  %y = call i32 @tutti.match.any.i32(i32 -1, i32 %tx)
  call void @tutti.warp_barrier(i32 -1)
  ret void
)"),
              Not(HasSubstr(kTurns)));
}

TEST(Control, NamingTheLanesThatAreHereIsNone) {
  EXPECT_FALSE(RunInABranch("call void @tutti.warp_barrier(i32 65535)").fault);
  EXPECT_FALSE(RunInABranch("%m = call i32 @tutti.activemask()\n  call void @tutti.warp_barrier(i32 %m)").fault);
  EXPECT_FALSE(RunInABranch("call void @tutti.warp_barrier(i32 -1)", "icmp ult i32 %tx, 32").fault);
}

TEST(Control, LanesThatReduceAtDifferentBarriersAreAFault) {
  const std::string reduce = "%odd = and i32 %tx, 1\n  %x = call i32 @tutti.barrier.red.popc(i32 %odd, i32 0, i1 true)";
  const GridResult result = RunInABranch(reduce, "icmp ult i32 %tx, 32");
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->text, guest::TextOf(guest::WarpMistake::kBarrierNumbers));
  EXPECT_EQ(result.fault->lanes, 0xaaaaaaaau);
}

TEST(Control, LanesThatHaveMetAreNotLookedForAgainInTheSameBlock) {
  const auto checks = [](const std::string& operations) {
    const auto text = WidenText(KernelText(R"(
  %some = icmp ult i32 %tx, %n
  br i1 %some, label %in, label %after
in:
  )" + operations + R"(
  br label %after
after:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  ret void
)"),
                                {.block = {32, 1, 1}, .check_addresses = false});
    EXPECT_TRUE(text) << text.error().text;
    size_t count = 0;
    for (size_t at = 0; (at = text->find("\nrare", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const std::string all = "call void @tutti.warp_barrier(i32 -1)\n",
                    half = "call void @tutti.warp_barrier(i32 65535)\n";
  EXPECT_EQ(checks(all), 1u);
  EXPECT_EQ(checks(all + all + "%v = call i32 @tutti.ballot(i32 -1, i1 true)\n"), 1u);
  EXPECT_EQ(checks(all + half + all), 2u);
}

TEST(Control, WhatAllLanesExecuteIsNotCheckedForAbsentOnes) {
  const std::string ir = KernelText(R"(
  %x = call i32 @tutti.redux.add(i32 %n, i32 %tx)
  %to = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 %x, ptr addrspace(1) %to
  ret void
)");
  const auto text = WidenText(ir, {.block = {128, 1, 1}, .check_addresses = false});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, Not(HasSubstr("tutti.service")));
}

}  // namespace
}  // namespace tutti::compiler
