// What runs lane after lane, what does not, and that nothing else changes by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kRows = 64;
constexpr const char* kMaskedGather = "@llvm.masked.gather";
const TestTarget kWidest{.target = HostTarget::Named("x86-64-v4"), .block = {kRows, 1, 1}};

// %start and %end of row t: p0[t] and p0[t + 1].
const std::string kRange = R"(
  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %sa = add i64 %p0, %t4
  %sp = inttoptr i64 %sa to ptr addrspace(1)
  %start = load i32, ptr addrspace(1) %sp
  %ea = add i64 %sa, 4
  %ep = inttoptr i64 %ea to ptr addrspace(1)
  %end = load i32, ptr addrspace(1) %ep
)";

// Row t of a sparse matrix: from p0[t] to p0[t + 1], the sum of p2[p1[i]] goes to p2[n + t]. `load` is how p2 is read.
std::string Rows(const std::string& load) {
  return KernelText(kRange + R"(  %some = icmp ult i32 %start, %end
  br i1 %some, label %row, label %done
row:
  %i = phi i32 [ %start, %0 ], [ %next, %row ]
  %sum = phi i32 [ 0, %0 ], [ %more, %row ]
  %iw = zext i32 %i to i64
  %i4 = shl i64 %iw, 2
  %ca = add i64 %p1, %i4
  %cp = inttoptr i64 %ca to ptr addrspace(1)
  %column = load i32, ptr addrspace(1) %cp, !tutti.loc !{i32 77, i32 0, i32 0}
  %cw = zext i32 %column to i64
  %c4 = shl i64 %cw, 2
  %xa = add i64 %p2, %c4
  %xp = inttoptr i64 %xa to ptr addrspace(1)
  %x = )" + load + R"( !tutti.loc !{i32 88, i32 0, i32 0}
  %more = add i32 %sum, %x
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %end
  br i1 %again, label %row, label %done
done:
  %all = phi i32 [ 0, %0 ], [ %more, %row ]
  %nw = zext i32 %n to i64
  %yi = add i64 %nw, %t
  %y4 = shl i64 %yi, 2
  %ya = add i64 %p2, %y4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %all, ptr addrspace(1) %yp
  ret void
)");
}
constexpr const char* kLoad = "load i32, ptr addrspace(1) %xp,";

// One window with starts, columns, and what is summed.
class LaneCalls : public ::testing::Test {
 protected:
  LaneCalls() {
    for (uint32_t t = 0; t < kRows; ++t) word(t + 1) = word(t) + t * 7 % 12;
    for (uint32_t i = 0; i < kColumns; ++i) word(kStarts + i) = i * 37 % kWords;
    for (uint32_t i = 0; i < kWords; ++i) word(kStarts + kColumns + i) = i * i;
  }
  static constexpr uint32_t kStarts = 128, kColumns = 1024, kWords = 512;
  static constexpr uint32_t kAll = kStarts + kColumns + kWords + kRows;

  uint32_t& word(uint32_t i) { return words_[i]; }
  uint64_t address(uint32_t i) { return reinterpret_cast<uint64_t>(&words_[i]); }
  uint32_t row_of(uint32_t i) const {
    uint32_t t = 0;
    while (words_[t + 1] <= i) ++t;
    return t;
  }
  uint32_t Sum(uint32_t t) const {
    uint32_t sum = 0;
    for (uint32_t i = words_[t]; i < words_[t + 1]; ++i) sum += words_[kStarts + kColumns + words_[kStarts + i]];
    return sum;
  }
  uint32_t Result(uint32_t t) const { return words_[kStarts + kColumns + kWords + t]; }

  std::optional<GuestFault> Run(const std::string& ir, const TestTarget& target, uint32_t threads = kRows) {
    auto kernel = BuildWarps(ir, target);
    EXPECT_TRUE(kernel) << kernel.error().text;
    if (!kernel) return std::nullopt;
    GridLaunch launch{.block = {threads, 1, 1}};
    launch.window_base = address(0);
    launch.window_bytes = 4 * kAll;
    launch.Param(address(0)).Param(address(kStarts)).Param(address(kStarts + kColumns)).Param(kWords);
    return RunGrid(kernel->descriptor(), launch).fault;
  }

 private:
  std::vector<uint32_t> words_ = std::vector<uint32_t>(kAll + 64);
};

std::string Text(const std::string& ir, const TestTarget& target = kWidest) {
  const auto text = WidenText(ir, target);
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : "";
}

TEST_F(LaneCalls, RowsOfDifferentLengthsAreReadLaneAfterLane) {
  EXPECT_THAT(Text(Rows(kLoad)), Not(HasSubstr(kMaskedGather)));
  for (const char* cpu : {"", "x86-64-v3"}) {
    TestTarget target = kWidest;
    target.target = *cpu != 0 ? HostTarget::Named(cpu) : HostTarget::Detect();
    for (const uint32_t threads : {kRows, 45u}) {
      target.block[0] = threads;
      EXPECT_FALSE(Run(Rows(kLoad), target, threads));
      for (uint32_t t = 0; t < threads; ++t) EXPECT_EQ(Result(t), Sum(t)) << t;
    }
  }
}

TEST_F(LaneCalls, WhatOthersMayWaitForStaysSideBySide) {
  for (const char* load :
       {"load volatile i32, ptr addrspace(1) %xp,", "load atomic i32, ptr addrspace(1) %xp monotonic, align 4,",
        "atomicrmw add ptr addrspace(1) %xp, i32 0 monotonic,"}) {
    EXPECT_THAT(Text(Rows(load)), HasSubstr(kMaskedGather)) << load;
  }
}

// The same fault as of lanes side by side: the first access of the first lane that is outside.
TEST_F(LaneCalls, AFaultNamesItsThreadAndLine) {
  TestTarget target = kWidest;
  target.target = HostTarget::Detect();
  constexpr uint32_t kEntry = 200;
  word(kStarts + kEntry) = 0x01000000;
  const auto of_value = Run(Rows(kLoad), target);
  ASSERT_TRUE(of_value);
  EXPECT_EQ(of_value->thread, row_of(kEntry));
  EXPECT_EQ(of_value->ptx_line, 88u);
  EXPECT_EQ(of_value->address, address(kStarts + kColumns) + 4ull * 0x01000000);

  word(kStarts + kEntry) = 0;
  word(10) = 0x02000000;  // row 9 has no end, row 10 begins outside
  const auto of_column = Run(Rows(kLoad), target);
  ASSERT_TRUE(of_column);
  EXPECT_EQ(of_column->thread, 9u);
  EXPECT_EQ(of_column->address, address(0) + 4 * kAll);
}

// Row t as above, of an even length: p0[100 + t] is the sum of p1's words from p0[t] to p0[t + 1], two in a round.
TEST_F(LaneCalls, ARoundsAccessesAreCheckedTogetherAndFaultByThemselves) {
  const std::string ir = KernelText(kRange + R"(  %some = icmp ult i32 %start, %end
  br i1 %some, label %row, label %done
row:
  %i = phi i32 [ %start, %0 ], [ %next, %row ]
  %sum = phi i32 [ 0, %0 ], [ %more, %row ]
  %iw = zext i32 %i to i64
  %i4 = shl i64 %iw, 2
  %a = add i64 %p1, %i4
  %ap = inttoptr i64 %a to ptr addrspace(1)
  %u = load i32, ptr addrspace(1) %ap, !tutti.loc !{i32 71, i32 0, i32 0}
  %b = add i64 %a, 4
  %bp = inttoptr i64 %b to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %bp, !tutti.loc !{i32 72, i32 0, i32 0}
  %both = add i32 %u, %v
  %more = add i32 %sum, %both
  %next = add i32 %i, 2
  %again = icmp ult i32 %next, %end
  br i1 %again, label %row, label %done
done:
  %all = phi i32 [ 0, %0 ], [ %more, %row ]
  %ya = add i64 %sa, 400
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %all, ptr addrspace(1) %yp
  ret void
)");
  EXPECT_THAT(Text(ir), Not(HasSubstr(kMaskedGather)));
  constexpr uint32_t kFew = 16, kResults = 100;
  TestTarget target{.block = {kFew, 1, 1}};
  for (uint32_t t = 0; t < kFew; ++t) word(t + 1) = word(t) + 2 * (t % 3);
  EXPECT_FALSE(Run(ir, target, kFew));
  for (uint32_t t = 0; t < kFew; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = word(t); i < word(t + 1); ++i) sum += word(kStarts + i);
    EXPECT_EQ(word(kResults + t), sum) << t;
  }
  // Row 3 ends in the middle of a pair at the end of the window.
  for (uint32_t t = 0; t < kFew; ++t) word(t) = t < 4 ? kAll - kStarts - 5 : kAll;
  const auto fault = Run(ir, target, kFew);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thread, 3u);
  EXPECT_EQ(fault->ptx_line, 72u);
  EXPECT_EQ(fault->address, address(0) + 4 * kAll);
}

// Row t as above, of a number of rounds that is known before them: the sum of p2[p1[i]] for every `step`th i.
std::string CountedRows(int step) {
  const std::string words = std::to_string(step), bytes = std::to_string(4 * step);
  return KernelText(kRange + R"(  %some = icmp ult i32 %start, %end
  br i1 %some, label %before, label %done
before:
  %length = sub i32 %end, %start
  %sw = zext i32 %start to i64
  %s4 = shl i64 %sw, 2
  %ca0 = add i64 %p1, %s4
  br label %row
row:
  %left = phi i32 [ %length, %before ], [ %less, %row ]
  %moved = phi i64 [ 0, %before ], [ %further, %row ]
  %sum = phi i32 [ 0, %before ], [ %more, %row ]
  %ca = add i64 %ca0, %moved
  %cp = inttoptr i64 %ca to ptr addrspace(1)
  %column = load i32, ptr addrspace(1) %cp, !tutti.loc !{i32 77, i32 0, i32 0}
  %cw = zext i32 %column to i64
  %c4 = shl i64 %cw, 2
  %xa = add i64 %p2, %c4
  %xp = inttoptr i64 %xa to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %xp, !tutti.loc !{i32 88, i32 0, i32 0}
  %more = add i32 %sum, %x
  %further = add i64 %moved, )" +
                    bytes + R"(
  %less = add i32 %left, -)" +
                    words + R"(
  %over = icmp eq i32 %less, 0
  br i1 %over, label %done, label %row
done:
  %all = phi i32 [ 0, %0 ], [ %more, %row ]
  %nw = zext i32 %n to i64
  %yi = add i64 %nw, %t
  %y4 = shl i64 %yi, 2
  %ya = add i64 %p2, %y4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %all, ptr addrspace(1) %yp
  ret void
)");
}

TEST_F(LaneCalls, AllRoundsAreCheckedInFrontOfTheFirst) {
  const TestTarget target{.block = {kRows, 1, 1}, .lane_after_lane = true};
  const std::string text = Text(CountedRows(1), target);
  size_t checks = 0;
  for (size_t at = 0; (at = text.find("call void @tutti_check(", at)) != std::string::npos; ++at) ++checks;
  EXPECT_EQ(checks, 3u) << "of x, and in a second copy of the loop of the column and x";
  EXPECT_FALSE(Run(CountedRows(1), target));
  for (uint32_t t = 0; t < kRows; ++t) EXPECT_EQ(Result(t), Sum(t)) << t;
  for (uint32_t t = 0; t < kRows; ++t) word(t + 1) = word(t) + 2 * (t % 7);
  EXPECT_FALSE(Run(CountedRows(2), target));
  for (uint32_t t = 0; t < kRows; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = word(t); i < word(t + 1); i += 2) sum += word(kStarts + kColumns + word(kStarts + i));
    EXPECT_EQ(Result(t), sum) << t;
  }
}

// Of a row that leaves the window, and of one that never ends, since its length is no number of rounds.
TEST_F(LaneCalls, ARoundThatLeavesTheWindowFaultsByItself) {
  const TestTarget target{.block = {kRows, 1, 1}, .lane_after_lane = true};
  for (uint32_t i = 0; i < kColumns + kWords + kRows; ++i) word(kStarts + i) = 3;
  for (const uint32_t length : {kAll, 1u}) {
    constexpr uint32_t kRow = 5;
    for (uint32_t t = 0; t <= kRows; ++t) word(t) = t <= kRow ? 0 : length;
    const auto fault = Run(CountedRows(2), target);
    ASSERT_TRUE(fault) << length;
    EXPECT_EQ(fault->thread, kRow);
    EXPECT_EQ(fault->ptx_line, 77u);
    EXPECT_EQ(fault->address, address(0) + 4 * kAll);
  }
}

// The last word of the window may be a row's last, and no word behind it; nor may rows begin far away, where an index
// times its size is more than 32 bits.
TEST_F(LaneCalls, ARowEndsWithTheWindow) {
  const TestTarget target{.block = {kRows, 1, 1}, .lane_after_lane = true};
  constexpr uint32_t kRow = 5, kEnd = kAll - kStarts;
  const auto run = [&](uint32_t start, uint32_t end) {
    for (uint32_t t = 0; t <= kRows; ++t) word(t) = t <= kRow ? start : end;
    for (uint32_t i = 0; i < kEnd; ++i) word(kStarts + i) = 3;
    return Run(CountedRows(1), target);
  };
  EXPECT_FALSE(run(kEnd - kRows - 4, kEnd - kRows));
  EXPECT_EQ(Result(kRow), 12u);
  EXPECT_FALSE(run(kEnd - 2, kEnd));
  EXPECT_EQ(Result(kRow), 6u);
  struct Row {
    uint32_t start, end, outside;
  };
  for (const Row& row : {Row{kEnd - 2, kEnd + 1, kEnd}, Row{kEnd, kEnd + 1, kEnd},
                         Row{0xfffffff0, 0xffffffff, 0xfffffff0}, Row{0x40000000, 0x40000001, 0x40000000}}) {
    SCOPED_TRACE(row.start);
    const auto fault = run(row.start, row.end);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->thread, kRow);
    EXPECT_EQ(fault->address, address(kStarts) + 4 * uint64_t{row.outside});
  }
}

// Row t as above: p0[100 + t] is the sum of p2[c] and p2[c + 1] for the words c of p1, two of which a round reads.
TEST_F(LaneCalls, WhatIsKnownLateInARoundIsCheckedThere) {
  std::string ir = kRange + R"(  %ya = add i64 %sa, 400
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  %some = icmp ult i32 %start, %end
  br i1 %some, label %row, label %done
row:
  %i = phi i32 [ %start, %0 ], [ %next, %row ]
  %sum = phi i32 [ 0, %0 ], [ %more, %row ]
  %iw = zext i32 %i to i64
  %i4 = shl i64 %iw, 2
  %a = add i64 %p1, %i4
  %ap = inttoptr i64 %a to ptr addrspace(1)
  %u = load i32, ptr addrspace(1) %ap
  %b = add i64 %a, 4
  %bp = inttoptr i64 %b to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %bp
)";
  for (const std::string column : {"u", "v"}) {
    ir += "  %" + column + "w = zext i32 %" + column + " to i64\n  %" + column + "4 = shl i64 %" + column +
          "w, 2\n  %" + column + "xa = add i64 %p2, %" + column + "4\n  %" + column + "xp = inttoptr i64 %" + column +
          "xa to ptr addrspace(1)\n  %" + column + "x = load i32, ptr addrspace(1) %" + column + "xp\n  %" + column +
          "ya = add i64 %" + column + "xa, 4\n  %" + column + "yp = inttoptr i64 %" + column +
          "ya to ptr addrspace(1)\n  %" + column + "y = load i32, ptr addrspace(1) %" + column + "yp\n  %" + column +
          "both = add i32 %" + column + "x, %" + column + "y\n";
  }
  ir = KernelText(ir + R"(
  %both = add i32 %uboth, %vboth
  %more = add i32 %sum, %both
  store i32 %more, ptr addrspace(1) %yp
  %next = add i32 %i, 2
  %again = icmp ult i32 %next, %end
  br i1 %again, label %row, label %done
done:
  ret void
)");
  constexpr uint32_t kFew = 16, kResults = 100;
  EXPECT_THAT(Text(ir), Not(HasSubstr(kMaskedGather)));
  TestTarget target{.block = {kFew, 1, 1}, .lane_after_lane = true};
  for (uint32_t t = 0; t < kFew; ++t) word(t + 1) = word(t) + 2 * (t % 3);
  EXPECT_FALSE(Run(ir, target, kFew));
  for (uint32_t t = 0; t < kFew; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = word(t); i < word(t + 1); ++i) {
      const uint32_t column = kStarts + kColumns + word(kStarts + i);
      sum += word(column) + word(column + 1);
    }
    EXPECT_EQ(word(kResults + t), sum) << t;
  }
}

// p0[t] is the first index i at which p0[p1[i]] is no less than p2[t]: where to look next is what the last look found.
TEST_F(LaneCalls, ASearchStaysSideBySide) {
  EXPECT_THAT(Text(KernelText(R"(
  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %ka = add i64 %p2, %t4
  %kp = inttoptr i64 %ka to ptr addrspace(1)
  %key = load i32, ptr addrspace(1) %kp
  br label %look
look:
  %low = phi i32 [ 0, %0 ], [ %low2, %look ]
  %high = phi i32 [ %n, %0 ], [ %high2, %look ]
  %both = add i32 %low, %high
  %middle = lshr i32 %both, 1
  %w = zext i32 %middle to i64
  %w4 = shl i64 %w, 2
  %a = add i64 %p1, %w4
  %p = inttoptr i64 %a to ptr addrspace(1)
  %at = load i32, ptr addrspace(1) %p
  %atw = zext i32 %at to i64
  %at4 = shl i64 %atw, 2
  %va = add i64 %p0, %at4
  %vp = inttoptr i64 %va to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %vp
  %less = icmp ult i32 %v, %key
  %above = add i32 %middle, 1
  %low2 = select i1 %less, i32 %above, i32 %low
  %high2 = select i1 %less, i32 %high, i32 %middle
  %more = icmp ult i32 %low2, %high2
  br i1 %more, label %look, label %done
done:
  %ra = add i64 %p0, %t4
  %rp = inttoptr i64 %ra to ptr addrspace(1)
  store i32 %low2, ptr addrspace(1) %rp
  ret void
)")),
              HasSubstr(kMaskedGather));
}

// for (i = t; i < n; i += 64) p0[i] = p2[p1[i]]: all lanes leave within one round.
TEST_F(LaneCalls, LanesThatCountAlikeStaySideBySide) {
  TestTarget whatever_it_costs = kWidest;
  whatever_it_costs.lane_after_lane = true;
  EXPECT_THAT(Text(KernelText(R"(
  %some = icmp ult i32 %tx, %n
  br i1 %some, label %round, label %done
round:
  %i = phi i32 [ %tx, %0 ], [ %next, %round ]
  %w = zext i32 %i to i64
  %w4 = shl i64 %w, 2
  %ca = add i64 %p1, %w4
  %cp = inttoptr i64 %ca to ptr addrspace(1)
  %c = load i32, ptr addrspace(1) %cp
  %cw = zext i32 %c to i64
  %c4 = shl i64 %cw, 2
  %xa = add i64 %p2, %c4
  %xp = inttoptr i64 %xa to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %xp
  %ya = add i64 %p0, %w4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %x, ptr addrspace(1) %yp
  %next = add i32 %i, 64
  %more = icmp ult i32 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
)"),
                   whatever_it_costs),
              HasSubstr(kMaskedGather));
}

// Each of many conditions is made of three before it: as many ways lead to the first as no compiler has time for.
TEST_F(LaneCalls, AConditionOfManyIsLookedAtOnce) {
  std::string text = R"(
  %m = mul i32 %n, 3
  %some = icmp ult i32 %tx, %n
  br i1 %some, label %round, label %done
round:
  %i = phi i32 [ %tx, %0 ], [ %next, %round ]
  %w = zext i32 %i to i64
  %w4 = shl i64 %w, 2
  %a = add i64 %p0, %w4
  %p = inttoptr i64 %a to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %p
  %y = add i32 %x, 1
  store i32 %y, ptr addrspace(1) %p
  %next = add i32 %i, 64
  %c0 = icmp ult i32 %next, %n
  %c1 = icmp ult i32 %next, %m
  %c2 = icmp sgt i32 %next, %m
)";
  constexpr unsigned kConditions = 100;
  for (unsigned c = 3; c < kConditions; ++c) {
    const auto name = [](const char* kind, unsigned number) { return kind + std::to_string(number); };
    text += "  " + name("%b", c) + " = and i1 " + name("%c", c - 2) + ", " + name("%c", c - 3) + "\n  " +
            name("%c", c) + " = xor i1 " + name("%c", c - 1) + ", " + name("%b", c) + "\n";
  }
  text += "  br i1 %c" + std::to_string(kConditions - 1) + ", label %round, label %done\ndone:\n  ret void\n";
  EXPECT_THAT(Text(KernelText(text)), HasSubstr("<32 x i32>"));
}

}  // namespace
}  // namespace tutti::compiler
