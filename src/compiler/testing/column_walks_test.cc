// Loops that step far through memory: warps take turns in them (link/column_walks.h), and nothing else is different.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

// if (x < limit) for (k = 0; k < rows; ++k) {
//   s = 3 s + from[k * width + x]; if (s & 1023 == stop) break; to[k * width + x] = s;
// } sums[x] = s, with the statements that make x of tid.x.
std::string Walk(const std::string& x) {
  return fmt::format(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to, .param .u64 sums, .param .u32 width, .param .u32 rows,
                  .param .u32 limit, .param .u32 stop)
{{
.reg .b64 %from, %to, %sums, %a; .reg .b32 %x, %y, %n, %i, %k, %s, %v, %w, %m, %h; .reg .pred %p;
ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.u64 %sums, [sums];
ld.param.u32 %w, [width]; ld.param.u32 %m, [rows]; ld.param.u32 %n, [limit]; ld.param.u32 %h, [stop];
mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;
{}
setp.ge.u32 %p, %x, %n;
@%p bra done;
mov.u32 %s, 0; mov.u32 %k, 0; mov.u32 %i, %x;
setp.eq.u32 %p, %m, 0;
@%p bra end;
loop:
mad.wide.u32 %a, %i, 4, %from;
ld.global.b32 %v, [%a];
mad.lo.u32 %s, %s, 3, %v;
and.b32 %v, %s, 1023;
setp.eq.u32 %p, %v, %h;
@%p bra end;
mad.wide.u32 %a, %i, 4, %to;
st.global.b32 [%a], %s;
add.u32 %i, %i, %w;
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, %m;
@%p bra loop;
end:
mad.wide.u32 %a, %x, 4, %sums;
st.global.b32 [%a], %s;
done:
ret;
}}
)",
                     x);
}

const std::string kOfBlock = Walk("mad.lo.u32 %x, %y, 32, %x;");  // in rows of 32
const std::string kOfEach = Walk("");  // all rows the same

struct Numbers {
  uint32_t width = 0, rows = 0, limit = 0, stop = 0;
};

struct Arrays {
  std::vector<uint32_t> from, to, sums;
  explicit Arrays(const Numbers& n) : from(size_t{n.width} * n.rows + 1), to(from.size(), 7), sums(n.width + 1, 7) {
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint32_t>(i * 2654435761u >> 7);
  }
};

Arrays Expected(const Numbers& n) {
  Arrays arrays(n);
  for (uint32_t x = 0; x < std::min(n.limit, n.width); ++x) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < n.rows; ++k) {
      sum = 3 * sum + arrays.from[size_t{k} * n.width + x];
      if ((sum & 1023) == n.stop) break;
      arrays.to[size_t{k} * n.width + x] = sum;
    }
    arrays.sums[x] = sum;
  }
  return arrays;
}

std::string Optimized(const std::string& text, const HostTarget& target, std::array<uint32_t, 3> block) {
  const auto image = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 80);
  EXPECT_TRUE(image) << image.error().text;
  const auto code = (*image)->Compile("k", {.block = block, .target = target, .until = Stage::kOptimizedIr});
  EXPECT_TRUE(code) << code.error().text;
  return {code->begin(), code->end()};
}

std::vector<HostTarget> Targets() {
  std::vector<HostTarget> targets;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const HostTarget target = HostTarget::Named(cpu);
    if (HostTarget::Detect().level >= target.level) targets.push_back(target);
  }
  return targets;
}

TEST(ColumnWalks, WarpsTakeTurnsWhereTheyReadFarFromTheRoundBefore) {
  for (const HostTarget& target : Targets()) {
    EXPECT_TRUE(Optimized(kOfBlock, target, {32, 4, 1}).contains("call void @llvm.prefetch"));
    EXPECT_FALSE(Optimized(kOfBlock, target, {32, 4, 1}).contains("tutti.round"));
    // One warp has nobody to take turns with, and what all read alike is in the cache.
    EXPECT_FALSE(Optimized(kOfBlock, target, {32, 1, 1}).contains("@llvm.prefetch"));
    EXPECT_FALSE(Optimized(kOfEach, target, {32, 4, 1}).contains("@llvm.prefetch"));
  }
}

// Warps that sum a column each while they hold a lock; `take` goes on at `have` when it has it.
std::string Locked(const std::string& take, const std::string& functions = "") {
  return fmt::format(R"(
.version 8.0
.target sm_80
.address_size 64
{}
.visible .entry k(.param .u64 from, .param .u64 sums, .param .u64 lock, .param .u32 width, .param .u32 rows)
{{
.reg .b64 %from, %sums, %lock, %a; .reg .b32 %x, %y, %tx, %i, %k, %s, %v, %w, %m; .reg .pred %p, %q;
ld.param.u64 %from, [from]; ld.param.u64 %sums, [sums]; ld.param.u64 %lock, [lock];
ld.param.u32 %w, [width]; ld.param.u32 %m, [rows];
mov.u32 %tx, %tid.x; mov.u32 %y, %tid.y; mad.lo.u32 %x, %y, 32, %tx;
setp.ne.u32 %q, %tx, 0;
@%q bra have;
again:
{}
have:
bar.warp.sync 0xffffffff;
mov.u32 %s, 0; mov.u32 %k, 0; mov.u32 %i, %x;
loop:
mad.wide.u32 %a, %i, 4, %from;
ld.global.b32 %v, [%a];
mad.lo.u32 %s, %s, 3, %v;
add.u32 %i, %i, %w; add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, %m;
@%p bra loop;
mad.wide.u32 %a, %x, 4, %sums;
st.global.b32 [%a], %s;
bar.warp.sync 0xffffffff;
@%q bra out;
st.release.gpu.global.b32 [%lock], 0;
out:
ret;
}}
)",
                     functions, take);
}

// A warp that has a lock has let it go when the next one asks, as long as it does not stop in a round.
TEST(ColumnWalks, WarpsTakeNoTurnsWhereOneMayWaitForAnotherThoughItDoesNotYield) {
  const std::string recursive = R"(
.func (.param .b32 result) attempt(.param .b64 a)
{
.reg .b64 %a; .reg .b32 %r; .reg .pred %p;
ld.param.u64 %a, [a];
atom.acquire.gpu.global.cas.b32 %r, [%a], 0, 1;
setp.gt.u32 %p, %r, 1;
@!%p bra fine;
{ .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %a; call (p1), attempt, (p0); ld.param.b32 %r, [p1]; }
fine:
st.param.b32 [result], %r;
ret;
})";
  const std::string by_call = Locked(
      "{ .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %lock; call (p1), attempt, (p0); ld.param.b32 %v, [p1]; }\n"
      "setp.ne.u32 %p, %v, 0;\n@%p bra again;",
      recursive);
  const std::string by_addition =
      Locked("atom.acquire.gpu.global.add.u32 %v, [%lock], 1;\nsetp.ne.u32 %p, %v, 0;\n@%p bra again;");
  const std::string by_nothing = Locked("red.global.add.u32 [%lock], 1;");
  for (const HostTarget& target : Targets()) {
    EXPECT_TRUE(Optimized(by_nothing, target, {32, 4, 1}).contains("@llvm.prefetch"));
    for (const std::string& text : {by_call, by_addition}) {
      ASSERT_FALSE(Optimized(text, target, {32, 4, 1}).contains("@llvm.prefetch")) << text;
      const Numbers n{.width = 128, .rows = 9, .limit = 128, .stop = 2000};
      const Arrays expected = Expected(n);
      Arrays got(n);
      uint32_t lock = 0;
      auto module = TestModule::Open(text, {.target = target});
      ASSERT_TRUE(module) << module.error().text;
      const auto result = module->Run("k", GridLaunch{.block = {32, 4, 1}}
                                               .Param(got.from.data())
                                               .Param(got.sums.data())
                                               .Param(&lock)
                                               .Param(n.width)
                                               .Param(n.rows));
      ASSERT_TRUE(result && !result->fault);
      EXPECT_EQ(got.sums, expected.sums);
      EXPECT_EQ(lock, 0u);
    }
  }
}

TEST(ColumnWalks, EachThreadHasItsOwnRoundsAndLeavesWhenItLikes) {
  for (const HostTarget& target : Targets()) {
    auto module = TestModule::Open(kOfBlock, {.target = target});
    ASSERT_TRUE(module) << module.error().text;
    for (const uint32_t warps : {2u, 3u, 8u, 32u}) {
      for (const uint32_t rows : {0u, 1u, 2u, 9u, 70u}) {
        for (const uint32_t limit : {0u, 1u, 32u, 45u, 64u, 95u, 32 * warps}) {
          for (const uint32_t stop : {2000u, 5u}) {  // never; of some in each round
            const Numbers n{.width = 32 * warps, .rows = rows, .limit = limit, .stop = stop};
            const Arrays expected = Expected(n);
            Arrays got(n);
            const auto result = module->Run("k", GridLaunch{.block = {32, warps, 1}}
                                                     .Param(got.from.data())
                                                     .Param(got.to.data())
                                                     .Param(got.sums.data())
                                                     .Param(n.width)
                                                     .Param(n.rows)
                                                     .Param(n.limit)
                                                     .Param(n.stop));
            ASSERT_TRUE(result && !result->fault);
            ASSERT_EQ(got.to, expected.to) << warps << ' ' << rows << ' ' << limit << ' ' << stop;
            ASSERT_EQ(got.sums, expected.sums) << warps << ' ' << rows << ' ' << limit << ' ' << stop;
          }
        }
      }
    }
  }
}

TEST(ColumnWalks, WhatIsBehindTheEndIsNotTouchedAndAFaultIsFoundInItsRow) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<uint8_t*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
  constexpr uint32_t kWidth = 64, kRows = 5;
  auto* from = reinterpret_cast<uint32_t*>(pages + 2 * page) - kWidth * kRows;
  for (const HostTarget& target : Targets()) {
    auto module = TestModule::Open(kOfBlock, {.target = target});
    ASSERT_TRUE(module) << module.error().text;
    for (const uint32_t rows : {kRows, kRows + 1}) {
      GridLaunch launch{.block = {32, 2, 1}};
      launch.window_base = reinterpret_cast<uint64_t>(pages);
      launch.window_bytes = 2 * page;
      launch.Param(from).Param(from).Param(pages).Param(kWidth).Param(rows).Param(kWidth).Param(2000u);
      const auto result = module->Run("k", launch);
      ASSERT_TRUE(result) << result.error().text;
      ASSERT_EQ(result->fault.has_value(), rows > kRows);
      if (!result->fault) continue;
      EXPECT_EQ(result->fault->kind, guest::FaultKind::kIllegalAddress);
      EXPECT_EQ(result->fault->address, reinterpret_cast<uint64_t>(from + kWidth * kRows));
      EXPECT_EQ(result->fault->thread, 0u);
      EXPECT_EQ(result->fault->ptx_line, 20u);
    }
  }
  munmap(pages, 3 * page);
}

}  // namespace
}  // namespace tutti::compiler
