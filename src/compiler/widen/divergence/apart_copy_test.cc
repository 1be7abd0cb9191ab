// What the apart copy costs to compile, and where there is none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "compiler/widen/testing/test_kernel.h"
#include "guest/exec/guest_services.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Widened(const std::string& body) {
  auto text = WidenText(KernelText(body), {.block = {128, 1, 1}});
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : "";
}

size_t CountBlocks(const std::string& text) {
  std::istringstream lines(text);
  size_t blocks = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_label = !line.empty() && line[0] != ' ' && line[0] != ';' && line.find(':') != std::string::npos;
    blocks += static_cast<size_t>(is_label && line.find('=') > line.find(':'));
  }
  return blocks;
}

// As a onesweep radix sort does: for each of `items` keys of a lane, finds the lanes with the same digit by one vote
// per bit, a leader that counts for all of them, and its count for them; then each lane looks back at what other blocks
// have published.
std::string OneSweep(int items, int bits) {
  std::string body = "  %mine = inttoptr i64 %p0 to ptr addrspace(1)\n  %at = zext i32 %tx to i64\n";
  for (int i = 0; i < items; ++i) {
    body += fmt::format(
        "  %slot{0} = getelementptr i32, ptr addrspace(1) %mine, i32 {0}\n  %key{0} = load i32, ptr addrspace(1) "
        "%slot{0}\n"
        "  %digit{0} = xor i32 %key{0}, %tx\n  %same{0}.0 = call i32 @tutti.match.any.i32(i32 -1, i32 %digit{0})\n",
        i);
    for (int bit = 0; bit < bits; ++bit) {
      body += fmt::format(
          "  %part{0}.{1} = lshr i32 %digit{0}, {1}\n  %bit{0}.{1} = trunc i32 %part{0}.{1} to i1\n"
          "  %votes{0}.{1} = call i32 @tutti.ballot(i32 -1, i1 %bit{0}.{1})\n  %not{0}.{1} = xor i32 %votes{0}.{1}, "
          "-1\n"
          "  %side{0}.{1} = select i1 %bit{0}.{1}, i32 %votes{0}.{1}, i32 %not{0}.{1}\n"
          "  %same{0}.{2} = and i32 %same{0}.{1}, %side{0}.{1}\n",
          i, bit, bit + 1);
    }
    body += fmt::format(
        "  %leads{0} = icmp slt i32 %same{0}.{1}, 0\n  br i1 %leads{0}, label %count{0}, label %ranked{0}\ncount{0}:\n"
        "  %old{0} = atomicrmw add ptr addrspace(1) %slot{0}, i32 %same{0}.{1} monotonic\n  br label "
        "%ranked{0}\nranked{0}:\n"
        "  %base{0} = phi i32 [ 0, %{2} ], [ %old{0}, %count{0} ]\n"
        "  %of{0} = call {{i32, i1}} @tutti.shfl.idx.i32(i32 -1, i32 %base{0}, i32 %same{0}.{1}, i32 31)\n"
        "  %rank{0} = extractvalue {{i32, i1}} %of{0}, 0\n  call void @tutti.warp_barrier(i32 -1)\n"
        "  store i32 %rank{0}, ptr addrspace(1) %slot{0}\n",
        i, bits, i == 0 ? "0" : fmt::format("ranked{}", i - 1));
  }
  return body + fmt::format(R"(
  %word = getelementptr i32, ptr addrspace(1) %mine, i64 %at
  %next = getelementptr i32, ptr addrspace(1) %word, i32 1
  br label %wait
wait:
  %seen = load atomic i32, ptr addrspace(1) %word acquire, align 4
  %again = icmp eq i32 %seen, %n
  br i1 %again, label %wait, label %publish
publish:
  store atomic i32 %seen, ptr addrspace(1) %next release, align 4
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  store i32 %rank{}, ptr addrspace(1) %word
  ret void
)",
                            items - 1);
}

// A lock at p0 whose holder counts, followed by a loop with `count` branches and a shuffle in every third. Values
// loaded before the loop are added up behind it.
std::string BranchesBesideALock(int count) {
  constexpr int kLoads = 100;
  std::string body = R"(
  %lock = inttoptr i64 %p0 to ptr addrspace(1)
  %counter = getelementptr i32, ptr addrspace(1) %lock, i32 1
  %mine = inttoptr i64 %p1 to ptr addrspace(1)
  %own = getelementptr i32, ptr addrspace(1) %mine, i32 %tx
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
)";
  for (int i = 0; i < kLoads; ++i)
    body += fmt::format(
        "  %from{0} = getelementptr i32, ptr addrspace(1) %own, i32 {1}\n  %kept{0} = load i32, ptr addrspace(1) "
        "%from{0}\n",
        i, 32 * i);
  body += "  br label %round\nround:\n";
  body += fmt::format("  %i = phi i32 [ 0, %hold ], [ %next, %next{0} ]\n  br label %next0\n", count);
  for (int i = 0; i < count; ++i) {
    body += fmt::format(
        "next{0}:\n  %at{0} = getelementptr i32, ptr addrspace(1) %own, i32 {2}\n  %x{0} = load i32, ptr addrspace(1) "
        "%at{0}\n"
        "  %skips{0} = icmp ugt i32 %x{0}, {3}\n  br i1 %skips{0}, label %next{1}, label %in{0}\nin{0}:\n",
        i, i + 1, 32 * i, 1000 + i);
    if (i % 3 == 0) {
      body += fmt::format(
          "  %both{0} = call {{i32, i1}} @tutti.shfl.idx.i32(i32 -1, i32 %x{0}, i32 0, i32 31)\n  %v{0} = extractvalue "
          "{{i32, i1}} %both{0}, 0\n",
          i);
    } else {
      body += fmt::format("  %v{0} = add i32 %x{0}, 1\n", i);
    }
    body += fmt::format(
        "  store i32 %v{0}, ptr addrspace(1) %at{0}\n  %leaves{0} = icmp ugt i32 %x{0}, {2}\n  br i1 %leaves{0}, label "
        "%done, label %next{1}\n",
        i, i + 1, 500 + i);
  }
  body += fmt::format(
      "next{}:\n  %next = add i32 %i, 1\n  %more = icmp ult i32 %next, %n\n  br i1 %more, label %round, label "
      "%done\ndone:\n",
      count);
  for (int i = 1; i < kLoads; ++i)
    body += fmt::format("  %sum{0} = add i32 %{1}, %kept{0}\n", i, i == 1 ? "kept0" : fmt::format("sum{}", i - 1));
  return body + fmt::format(R"(
  %sums = inttoptr i64 %p2 to ptr addrspace(1)
  %to = getelementptr i32, ptr addrspace(1) %sums, i32 %tx
  store i32 %sum{}, ptr addrspace(1) %to
  ret void
)",
                            kLoads - 1);
}

size_t CountPhis(const std::string& text) {
  size_t phis = 0;
  for (size_t at = text.find(" phi "); at != std::string::npos; at = text.find(" phi ", at + 1)) ++phis;
  return phis;
}

// `count` branches with a shuffle of the whole warp on both sides.
std::string Branches(int count) {
  std::string body = "  %mine = inttoptr i64 %p0 to ptr addrspace(1)\n  br label %next0\n";
  for (int i = 0; i < count; ++i) {
    body += fmt::format(
        "next{0}:\n  %index{0} = add i32 %tx, {2}\n  %slot{0} = getelementptr i32, ptr addrspace(1) %mine, i32 "
        "%index{0}\n"
        "  %some{0} = icmp ult i32 %tx, {0}\n"
        "  br i1 %some{0}, label %in{0}, label %out{0}\nin{0}:\n"
        "  %x{0} = call {{i32, i1}} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 0, i32 31)\n  br label %both{0}\nout{0}:\n"
        "  %y{0} = call {{i32, i1}} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 1, i32 31)\n  br label "
        "%both{0}\nboth{0}:\n"
        "  %z{0} = phi {{i32, i1}} [ %x{0}, %in{0} ], [ %y{0}, %out{0} ]\n  %v{0} = extractvalue {{i32, i1}} %z{0}, 0\n"
        "  store i32 %v{0}, ptr addrspace(1) %slot{0}\n  br label %next{1}\n",
        i, i + 1, 32 * i);
  }
  return body + fmt::format("next{}:\n  ret void\n", count);
}

GridResult RunOn(const std::string& body, std::vector<uint32_t>& words) {
  auto kernel = BuildWarps(KernelText(body), {.block = {32, 1, 1}});
  EXPECT_TRUE(kernel) << kernel.error().text;
  GridLaunch launch{.block = {32, 1, 1}};
  launch.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u);
  return kernel ? RunGrid(kernel->descriptor(), launch) : GridResult{};
}

TEST(ApartCopy, WarpOperationsBesideALoopThatWaitsAreCompiledOnce) {
  const std::string few = Widened(OneSweep(4, 8)), many = Widened(OneSweep(8, 8));
  EXPECT_THAT(many, HasSubstr(kTurns));  // for the loop that waits
  // Four more items have 44 more operations: one place each in the loop of turns, not an edge from each to each.
  EXPECT_LT(CountBlocks(many), 2 * CountBlocks(few)) << CountBlocks(few);
  EXPECT_LT(CountBlocks(many), 1500u);
}

// A lane whose write is a copy by a map, or a grid that it launches, may be whom the loop waits for.
TEST(ApartCopy, LanesTakeTurnsWhereOnesWriteIsACall) {
  for (const std::string write : {"%w = call i32 @tutti.tensor_copy(i32 0, i64 %p1, i32 0, i32 0, i32 0, i32 0, i32 0, "
                                  "i32 0, i32 0, i32 0, i32 0)",
                                  "%w = call i64 @tutti.device_runtime(i32 0, i64 %p1)", "%w = add i64 %p1, 1"}) {
    const std::string body =
        "  %word = inttoptr i64 %p0 to ptr addrspace(1)\n  %odd = trunc i32 %tx to i1\n"
        "  br i1 %odd, label %wait, label %write\nwait:\n  %seen = load volatile i32, ptr addrspace(1) %word\n"
        "  %again = icmp eq i32 %seen, 0\n  br i1 %again, label %back, label %done\nback:\n"
        "  call void @tutti.yield()\n  br label %wait\nwrite:\n  " +
        write + "\n  br label %done\ndone:\n  ret void\n";
    const auto widened = WidenText(KernelText(body) +
                                       "declare void @tutti.yield()\ndeclare i64 @tutti.device_runtime(i32, i64)\n"
                                       "declare i32 @tutti.tensor_copy(i32, i64, i32, i32, i32, i32, i32, i32, i32, "
                                       "i32, i32)\n",
                                   {.block = {128, 1, 1}});
    ASSERT_TRUE(widened) << widened.error().text;
    const std::string& text = *widened;
    if (write.find("call") != std::string::npos) {
      EXPECT_THAT(text, HasSubstr(kTurns)) << write;
    } else {
      EXPECT_THAT(text, Not(HasSubstr(kTurns))) << write;
    }
  }
}

TEST(ApartCopy, WhatLanesKeepFromTurnToTurnIsInProportionToTheCode) {
  const std::string text = Widened(BranchesBesideALock(100));
  EXPECT_THAT(text, HasSubstr(kTurns));
  EXPECT_LT(CountPhis(text), 5000u);
}

TEST(ApartCopy, WhatLanesKeepInMemoryFromTurnToTurnIsTheirOwn) {
  constexpr uint32_t kBranches = 100, kLoads = 100;
  std::vector<uint32_t> lock(2), words(32 * kBranches), sums(32);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = i % 32 + i / 32 % 7;
  auto expected = words;
  std::vector<uint32_t> expected_sums(32);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < kLoads; ++i) expected_sums[lane] += words[32 * i + lane];
    for (uint32_t i = 0; i < kBranches; ++i)
      expected[32 * i + lane] = i % 3 == 0 ? words[32 * i] : words[32 * i + lane] + 1;
  }
  auto kernel = BuildWarps(KernelText(BranchesBesideALock(kBranches)), {.block = {32, 1, 1}});
  ASSERT_TRUE(kernel) << kernel.error().text;
  GridLaunch launch{.block = {32, 1, 1}};
  launch.Param(lock.data()).Param(words.data()).Param(sums.data()).Param(1u);
  ASSERT_FALSE(RunGrid(kernel->descriptor(), launch).fault);
  EXPECT_EQ(lock[1], 32u);
  EXPECT_EQ(words, expected);
  EXPECT_EQ(sums, expected_sums);
}

TEST(ApartCopy, WhereItWouldBeMuchToCompileThereIsNone) {
  const size_t few = CountBlocks(Widened(Branches(2))), many = CountBlocks(Widened(Branches(20))),
               most = CountBlocks(Widened(Branches(30)));
  EXPECT_THAT(Widened(Branches(2)), HasSubstr(kTurns));
  for (const int count : {20, 30, 100}) EXPECT_THAT(Widened(Branches(count)), Not(HasSubstr(kTurns))) << count;
  EXPECT_LT(many, 10 * few);
  EXPECT_LT(most, 2 * many);
}

TEST(ApartCopy, LanesThatCameApartMeetAtNoInstructionOfTheWholeWarp) {
  const auto ways = [](const char* second) {
    const std::string shuffle = "call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %tx, i32 0, i32 31)";
    return fmt::format(
        "  %low = icmp ult i32 %tx, 16\n  br i1 %low, label %a, label %b\na:\n  %a0 = {0}\n  %a1 = {0}{1}\n  br label "
        "%done\n"
        "b:\n  %b0 = {0}\n  %b1 = {0}{1}\n  br label %done\ndone:\n  ret void\n",
        shuffle, second);
  };
  std::vector<uint32_t> words(32);
  EXPECT_FALSE(RunOn(ways(""), words).fault);
  const GridResult result = RunOn(ways(", !tutti.aligned !{}"), words);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->text, guest::TextOf(guest::WarpMistake::kShuffle));
}

TEST(ApartCopy, LanesMeetWhereThereIsOneAndAreAFaultWhereThereIsNone) {
  std::vector<uint32_t> words(32 * 30);
  EXPECT_FALSE(RunOn(Branches(2), words).fault);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[32 + lane], lane < 1 ? 0u : 1u) << lane;
  const GridResult result = RunOn(Branches(30), words);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->text, guest::TextOf(guest::WarpMistake::kShuffle));
}

}  // namespace
}  // namespace tutti::compiler
