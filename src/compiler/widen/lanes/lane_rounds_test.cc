// Loops lane after lane of many kinds, whose rounds the check in front of them has to count: beside what each does one
// round after the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kRows = 24, kWords = 256, kResults = 64, kTable = 128, kLine = 77;

// A round of row t: sum += the word at p1 + 4 * p0[t] + moved; moved += bytes. The counter goes from p0[t] to p0[t + 1]
// by `step`, or back.
struct RowLoop {
  const char* type;  // of the counter
  int step, bytes;
  const char* asks;  // whether it goes on, or is over
};

std::string KernelOf(const RowLoop& loop) {
  const bool is_ne = std::string(loop.asks) == "ne", is_wide = std::string(loop.type) == "i64";
  const std::string from = is_wide ? "%sw" : "%start", to = is_wide ? "%ew" : "%end";
  return KernelText(fmt::format(
      R"(  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %sa = add i64 %p0, %t4
  %sp = inttoptr i64 %sa to ptr addrspace(1)
  %start = load i32, ptr addrspace(1) %sp
  %ea = add i64 %sa, 4
  %ep = inttoptr i64 %ea to ptr addrspace(1)
  %end = load i32, ptr addrspace(1) %ep
  %sw = zext i32 %start to i64
  %ew = zext i32 %end to i64
  %s4 = shl i64 %sw, 2
  %first = add i64 %p1, %s4
  br label %row
row:
  %i = phi {0} [ {1}, %0 ], [ %next, %row ]
  %moved = phi i64 [ 0, %0 ], [ %further, %row ]
  %sum = phi i32 [ 0, %0 ], [ %more, %row ]
  %a = add i64 %first, %moved
  %p = inttoptr i64 %a to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %p, !tutti.loc !{{i32 {7}, i32 0, i32 0}}
  %more = add i32 %sum, %x
  %further = add i64 %moved, {4}
  %next = add {0} %i, {3}
  %asks = icmp {5} {0} %next, {2}
  br i1 %asks, label {6}
done:
  %ya = add i64 %p2, %t4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %more, ptr addrspace(1) %yp
  ret void
)",
      loop.type, loop.step > 0 ? from : to, loop.step > 0 ? to : from, loop.step, loop.bytes, loop.asks,
      is_ne ? "%row, label %done" : "%done, label %row", kLine));
}

class LaneRounds : public ::testing::TestWithParam<RowLoop> {
 protected:
  // Row t has `rounds(t)` rounds and counts `rest` more; all begin at word `start` of the table.
  template <typename Rounds>
  void Check(const LoadedKernel& kernel, uint32_t start, uint32_t rest, const Rounds& rounds) {
    const auto step = static_cast<uint32_t>(std::abs(GetParam().step));
    std::vector<uint32_t> words = Words();
    words[0] = start;
    for (uint32_t t = 0; t < kRows; ++t) words[t + 1] = words[t] + rounds(t) * step + rest;
    CheckWords(kernel, words, 4 * kTable);
  }

  static std::vector<uint32_t> Words() {
    std::vector<uint32_t> words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = i * i;
    return words;
  }

  // The table begins at `table` bytes from the first word on.
  void CheckWords(const LoadedKernel& kernel, std::vector<uint32_t> words, uint64_t table) {
    const RowLoop& loop = GetParam();
    const auto step = static_cast<uint64_t>(std::abs(loop.step));
    const bool is_wide = std::string(loop.type) == "i64";
    const auto base = reinterpret_cast<uint64_t>(words.data());
    std::optional<GuestFault> expected;
    std::vector<uint32_t> sums(kRows);
    for (uint32_t t = 0; t < kRows && !expected; ++t) {
      uint64_t address = base + table + 4 * uint64_t{words[t]};
      // What is no number of rounds leaves the window before the counter comes around.
      const uint64_t length = is_wide ? uint64_t{words[t + 1]} - words[t] : words[t + 1] - words[t];
      for (uint64_t left = length != 0 && length % step == 0 ? length / step : ~uint64_t{0}; left != 0; --left) {
        if (address < base || address > base + 4 * (kWords - 1) || address % 4 != 0) {
          expected = GuestFault{};
          expected->thread = t;
          expected->address = address;
          break;
        }
        sums[t] += words[(address - base) / 4];
        address += static_cast<uint64_t>(int64_t{loop.bytes});
      }
    }
    GridLaunch launch{.block = {kRows, 1, 1}};
    launch.window_base = base;
    launch.window_bytes = 4 * kWords;
    launch.Param(base).Param(base + table).Param(base + 4 * kResults).Param(0u);
    const auto fault = RunGrid(kernel.descriptor(), launch).fault;
    ASSERT_EQ(fault.has_value(), expected.has_value());
    if (fault) {
      EXPECT_EQ(fault->thread, expected->thread);
      EXPECT_EQ(fault->ptx_line, kLine);
      EXPECT_EQ(fault->address, expected->address);
    } else {
      for (uint32_t t = 0; t < kRows; ++t) EXPECT_EQ(words[kResults + t], sums[t]) << t;
    }
  }
};

TEST_P(LaneRounds, AreThoseOfTheLoop) {
  const auto kernel = BuildWarps(KernelOf(GetParam()), {.block = {kRows, 1, 1}, .lane_after_lane = true});
  ASSERT_TRUE(kernel) << kernel.error().text;
  const auto few = [](uint32_t t) { return 1 + t % 3; };
  Check(*kernel, 0, 0, few);
  Check(*kernel, 0, 1, few);
  // The last rows end at the end of the window, or near it on either side.
  for (uint32_t start = 40; start < kWords - kTable + 2; ++start) {
    SCOPED_TRACE(start);
    Check(*kernel, start, 0, few);
  }
  // A length of 0 is all that the counter can count.
  Check(*kernel, 0, 0, [](uint32_t t) { return t == 7 ? 0 : 1 + t % 3; });
}

// Rows that end before they begin, begin behind or before the table, have billions of rounds; tables that begin before
// the window, or at no multiple.
TEST_P(LaneRounds, AreThoseOfTheLoopWhateverTheRowsAre) {
  const auto kernel = BuildWarps(KernelOf(GetParam()), {.block = {kRows, 1, 1}, .lane_after_lane = true});
  ASSERT_TRUE(kernel) << kernel.error().text;
  std::mt19937 random(5);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    std::vector<uint32_t> words = Words();
    const uint64_t table = below(8) == 0 ? uint64_t{0} - 4 * below(200) : 4 * kTable + (below(16) == 0 ? 2 : 0);
    const auto step = static_cast<uint32_t>(std::abs(GetParam().step));
    const bool is_wild = below(2) == 0;
    words[0] = below(kWords - kTable);
    for (uint32_t t = 0; t < kRows; ++t) {
      const uint32_t next = words[t] + step * (1 + below(4));
      const uint32_t wild[] = {below(kWords),         ~below(4), 0x80000000 + below(3),
                               0x40000000 - below(3), words[t],  next + 1};
      words[t + 1] = is_wild && below(kRows) == 0 ? wild[below(6)] : next;
    }
    CheckWords(*kernel, words, table);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, LaneRounds,
                         ::testing::Values(RowLoop{"i32", 1, 4, "ne"}, RowLoop{"i64", 1, 4, "eq"},
                                           RowLoop{"i32", -1, 4, "eq"}, RowLoop{"i64", -2, 8, "ne"},
                                           RowLoop{"i32", 4, 16, "ne"}, RowLoop{"i32", 3, 4, "ne"},
                                           RowLoop{"i32", 1, 12, "ne"}, RowLoop{"i64", 1, -4, "ne"},
                                           RowLoop{"i32", 1, 2, "eq"}, RowLoop{"i32", -8, 4, "ne"}));

}  // namespace
}  // namespace tutti::compiler
