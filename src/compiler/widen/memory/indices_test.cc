// Indices of 32 bits: what becomes of them as addresses, and that those which wrap are followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "compiler/widen/testing/accesses.h"
#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What 64 threads leave in p1, where p0 has 100, 101, ... They must not fault.
std::vector<uint32_t> RunOn64(const std::string& ir, uint32_t n) {
  std::vector<uint32_t> from(64), to(64);
  std::iota(from.begin(), from.end(), 100);
  const GridResult result =
      RunOn(ir, {.block = {64, 1, 1}},
            GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(n));
  EXPECT_FALSE(result.fault);
  return to;
}

// By a 64-bit index that is cut to 32 bits, as LLVM makes PTX of p[(uint32_t)(i + j)].
std::string CutAddress(const std::string& name, const std::string& index) {
  return "  %" + name + "i = and i64 " + index + ", 4294967295\n  %" + name + "b = shl i64 %" + name + "i, 2\n  %" +
         name + "a = add i64 %p0, %" + name + "b\n  %" + name + " = inttoptr i64 %" + name + "a to ptr addrspace(1)\n";
}

// p1[19 * t + 7] = p0[19 * t + 7]: no thread of a block has an index of more than 32 bits.
TEST(Indices, AnIndexThatCannotWrapIsExtendedAsItIs) {
  const std::string ir =
      KernelText("  %m = mul i32 %tx, 19\n  %i = add i32 %m, 7\n" + Address("from", "%p0", "%i", 2) +
                 Address("to", "%p1", "%i", 2) +
                 "  %v = load i32, ptr addrspace(1) %from\n  store i32 %v, ptr addrspace(1) %to\n  ret void\n");
  EXPECT_THAT(Wide(ir, {.block = {256, 1, 1}}), Not(HasSubstr("zext <32 x i32>")));
}

TEST(Indices, AVariableIndexIsAGatherBy32Bits) {
  const std::string ir = KernelText(
      Address("from", "%p0", "%tx", 2) + "  %i = load i32, ptr addrspace(1) %from\n" + Address("at", "%p1", "%i", 2) +
      "  %v = load i32, ptr addrspace(1) %at\n  store i32 %v, ptr addrspace(1) %from\n  ret void\n");
  std::vector<uint32_t> index(64), table(64);
  for (uint32_t i = 0; i < 64; ++i) {
    index[i] = i * 37 % 64;
    table[i] = i * i;
  }
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
    std::vector<uint32_t> values = index;
    const TestTarget target{.target = HostTarget::Named(cpu), .block = {64, 1, 1}};
    RunOn(ir, target,
          GridLaunch{.block = {64, 1, 1}}.Param(values.data()).Param(table.data()).Param(uint64_t{0}).Param(0u));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], table[index[i]]) << cpu;
  }
}

TEST(Indices, NeighboursByAnIndexThatIsCutStayNeighbours) {
  // for (j = 0; j < n; ++j) v = p0[(uint32_t)(i + j)] + p0[(uint32_t)(i + j + 1)]
  const std::string ir = KernelText(R"(
  br label %begin
begin:
  %i = zext i32 %tx to i64
  br label %loop
loop:
  %j = phi i64 [ 0, %begin ], [ %next, %loop ]
  %k = add i64 %j, %i
  %next = add i64 %j, 1
  %k1 = add i64 %k, 1
)" + CutAddress("f", "%k") + CutAddress("s", "%k1") +
                                    R"(
  %first = load float, ptr addrspace(1) %f
  %second = load float, ptr addrspace(1) %s
  %more = fadd float %first, %second
  %cut = trunc i64 %next to i32
  %last = icmp eq i32 %cut, %n
  br i1 %last, label %done, label %loop
done:
)" + Address("to", "%p1", "%tx", 2) +
                                    "  store float %more, ptr addrspace(1) %to\n  ret void\n");
  const std::string text = Wide(ir, {.block = {256, 1, 1}});
  EXPECT_THAT(text, HasSubstr("load <32 x float>"));
  EXPECT_THAT(text, Not(HasSubstr("gather")));
}

TEST(Indices, AnIndexThatIsCutAndWrapsIsFollowed) {
  // p1[t] = p0[t - 16] + p0[t - 15] for t >= 16, by (t + n) mod 2^32 with n = 2^32 - 16: it wraps in mid-warp.
  const std::string ir = KernelText(R"(
  %some = icmp uge i32 %tx, 16
  br i1 %some, label %copy, label %done
copy:
  %t = zext i32 %tx to i64
  %far = zext i32 %n to i64
  %k = add i64 %t, %far
  %k1 = add i64 %k, 1
)" + CutAddress("f", "%k") + CutAddress("s", "%k1") +
                                    Address("to", "%p1", "%tx", 2) + R"(
  %first = load i32, ptr addrspace(1) %f
  %second = load i32, ptr addrspace(1) %s
  %v = add i32 %first, %second
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  const std::vector<uint32_t> to = RunOn64(ir, ~15u);
  for (uint32_t t = 16; t < 64; ++t) EXPECT_EQ(to[t], 2 * (100 + t - 16) + 1);
}

TEST(Indices, AnUnsignedIndexThatWrapsIsFollowed) {
  // p1[t] = p0[(t - 1) mod 2^32] for t > 0: lane 0's address is wild, and lanes do not lie in one piece by 64-bit sums.
  const std::string ir = KernelText(
      "  %some = icmp ne i32 %tx, 0\n  br i1 %some, label %copy, label %done\ncopy:\n  %i = add i32 %tx, -1\n" +
      Address("from", "%p0", "%i", 2) + Address("to", "%p1", "%tx", 2) + R"(
  %v = load i32, ptr addrspace(1) %from
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  const std::vector<uint32_t> to = RunOn64(ir, 0u);
  for (uint32_t i = 1; i < 64; ++i) EXPECT_EQ(to[i], 99 + i);
}

// p1[t] = p0[t - 16] for t >= 16, by (t - 5) + n with n = -11: the sum of lane 0 is below 0, so that the lanes that go
// are on both sides of 2^32.
TEST(Indices, AnIndexFromBelowZeroThatWrapsIsFollowed) {
  const std::string ir = KernelText(
      "  %some = icmp uge i32 %tx, 16\n  br i1 %some, label %copy, label %done\ncopy:\n"
      "  %d = add i32 %tx, -5\n  %i = add i32 %d, %n\n" +
      Address("from", "%p0", "%i", 2) + Address("to", "%p1", "%tx", 2) + R"(
  %v = load i32, ptr addrspace(1) %from
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  const std::vector<uint32_t> to = RunOn64(ir, static_cast<uint32_t>(-11));
  for (uint32_t t = 16; t < 64; ++t) EXPECT_EQ(to[t], 100 + t - 16) << t;
}

// p1[t - 1] = p0[t - 1] for t > 0, as C++ of int and what LLVM makes of it: only lane 0, which stays away, is below 0.
TEST(Indices, ASignedIndexFromBelowZeroIsExtendedAsItIs) {
  for (const std::string extension : {"sext", "zext nneg"}) {
    const std::string ir = KernelText(
        "  %some = icmp ne i32 %tx, 0\n  br i1 %some, label %copy, label %done\ncopy:\n  %i = add i32 %tx, -1\n  %w "
        "= " +
        extension + R"( i32 %i to i64
  %b = shl i64 %w, 2
  %fa = add i64 %p0, %b
  %from = inttoptr i64 %fa to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %from
  %ta = add i64 %p1, %b
  %to = inttoptr i64 %ta to ptr addrspace(1)
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
    EXPECT_THAT(Wide(ir, {.block = {64, 1, 1}}), Not(HasSubstr("ext <32 x i32>"))) << extension;
    const std::vector<uint32_t> to = RunOn64(ir, 0);
    for (uint32_t t = 1; t < 64; ++t) EXPECT_EQ(to[t - 1], 100 + t - 1) << extension << ' ' << t;
  }
}

// Where only some lanes go, an index of others may wrap, also of the lane that the rest are counted from. %n is -5.
TEST(Indices, AnIndexThatWrapsInLanesThatStayAwayIsRightInTheOthers) {
  const std::string ir = KernelText(
      "  %inside = icmp ugt i32 %tx, 4\n  br i1 %inside, label %copy, label %done\ncopy:\n"
      "  %d = add i32 %tx, %n\n  %i = mul i32 %d, 3\n" +
      Address("from", "%p0", "%i", 2) + Address("to", "%p1", "%i", 2) +
      "  %v = load i32, ptr addrspace(1) %from\n  store i32 %v, ptr addrspace(1) %to\n"
      "  br label %done\ndone:\n  ret void\n");
  std::vector<uint32_t> from(3 * 64), to(3 * 64);
  std::iota(from.begin(), from.end(), 1u);
  const auto result =
      RunOn(ir, {.block = {64, 1, 1}},
            GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(-5));
  EXPECT_FALSE(result.fault);
  for (uint32_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], i % 3 == 0 && i < 3 * 59 ? i + 1 : 0u) << i;
}

TEST(Indices, IndicesThatWrapInATableOf4GiBAreBothItsFirstAndItsLast) {
  constexpr uint64_t kBytes = (uint64_t{1} << 32) + 4096;
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const table = static_cast<uint8_t*>(mapped);
  const std::string ir = KernelText("  %i = add i32 %n, %tx\n" + Address("to", "%p0", "%i", 0) +
                                    "  %v = trunc i32 %tx to i8\n  store i8 %v, ptr addrspace(1) %to\n  ret void\n");
  GridLaunch launch{.block = {64, 1, 1}};
  launch.Param(table).Param(uint64_t{0}).Param(uint64_t{0}).Param(~0u - 9);
  EXPECT_FALSE(RunOn(ir, {.block = {64, 1, 1}}, launch).fault);
  for (uint64_t t = 0; t < 64; ++t) EXPECT_EQ(table[(~0u - 9 + t) & ~0u], t);
  EXPECT_EQ(table[uint64_t{1} << 32], 0);
  munmap(mapped, kBytes);
}

// p0[n - t] by p0 | i, where a branch says that i is below the alignment of p0. Lane 0, from which the others are
// counted down, does not go there: its index has a bit of p0.
TEST(Indices, ATermThatIsOredToATableIsAddedToIt) {
  constexpr uint8_t kUntouched = 0xee;
  constexpr uint32_t kAlign = 4096, kThreads = 64;
  alignas(2 * kAlign) static std::array<uint8_t, 4 * kAlign> memory;
  uint8_t* const table = &memory[kAlign];
  for (const std::string operation : {"or", "or disjoint"}) {
    const std::string ir = KernelText(R"(
  %i = sub i32 %n, %tx
  %inside = icmp ult i32 %i, 4096
  br i1 %inside, label %copy, label %done
copy:
  %table = and i64 %p0, -4096
  %w = zext i32 %i to i64
  %a = )" + operation + R"( i64 %table, %w
  %to = inttoptr i64 %a to ptr addrspace(1)
  %v = trunc i32 %tx to i8
  store i8 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
    memory.fill(kUntouched);
    GridLaunch launch{.block = {kThreads, 1, 1}};
    launch.window_base = reinterpret_cast<uint64_t>(table);
    launch.window_bytes = 2 * kAlign;
    launch.Param(table).Param(uint64_t{0}).Param(uint64_t{0}).Param(kAlign);
    EXPECT_FALSE(RunOn(ir, {.block = {kThreads, 1, 1}}, launch).fault) << operation;
    EXPECT_TRUE(std::all_of(memory.data(), table, [](uint8_t byte) { return byte == kUntouched; }))
        << operation << ": something in front of the window was written";
    EXPECT_EQ(std::ranges::count(memory, kUntouched), std::ssize(memory) - (kThreads - 1)) << operation;
    for (uint32_t t = 1; t < kThreads; ++t) EXPECT_EQ(table[kAlign - t], t) << operation;
  }
}

// An index is only where its block has run. Lanes of another way meet those of that block in one that comes before the
// access: the way there is one that does not pass the index.
TEST(Indices, AnIndexOfABlockThatNotAllWaysPassIsNotUsedByItself) {
  for (const std::string targets : {"label %meet, label %access", "label %access, label %meet"}) {
    const std::string ir = KernelText(
        "  %none = icmp eq i32 %n, 0\n  %low = icmp ult i32 %tx, 16\n" + Address("at", "%p0", "%tx", 2) +
        Address("to", "%p1", "%tx", 2) + "  br i1 %none, label %meet, label %read\nread:\n" +
        "  %i = load i32, ptr addrspace(1) %at\n  %w = zext nneg i32 %i to i64\n  br i1 %low, " + targets + R"(
meet:
  store i32 1, ptr addrspace(1) %to
  br label %done
access:
  %b = shl i64 %w, 2
  %a = add i64 %p0, %b
  %from = inttoptr i64 %a to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %from
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
    for (const uint32_t n : {0u, 1u}) {
      std::vector<uint32_t> from(64), to(64);
      for (uint32_t t = 0; t < 64; ++t) from[t] = 63 - t;
      const GridResult result =
          RunOn(ir, TestTarget{},
                GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(n));
      EXPECT_FALSE(result.fault);
      const bool low_meet = targets.starts_with("label %meet");
      for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(to[t], n == 0 || (t < 16) == low_meet ? 1 : t) << targets << t;
    }
  }
}

// p1[t] = p0[t + 16] + p0[t + 17] for t < 16, by t | 16, as LLVM makes of the sum that a branch lets have no carry. In
// the lanes above, (t | 16) + 1 is not t + 17: what the first load checks must reach what the second one loads.
TEST(Indices, ATermThatIsOredInLanesThatStayAwayIsASumInAllOfThem) {
  constexpr size_t kPage = 4096, kWords = kPage / sizeof(uint32_t);
  void* const mapped = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const words = static_cast<uint32_t*>(mapped);
  ASSERT_EQ(mprotect(words + kWords, kPage, PROT_NONE), 0);
  const uint32_t* const from = words + kWords - 33;
  std::iota(words, words + kWords, 0u);
  const std::string ir = KernelText("  %some = icmp ult i32 %tx, 16\n  br i1 %some, label %copy, label %done\ncopy:\n" +
                                    Address("to", "%p1", "%tx", 2) + R"(
  %t = zext i32 %tx to i64
  %tb = shl i64 %t, 2
  %o = or disjoint i64 %tb, 64
  %fa = add i64 %p0, %o
  %f = inttoptr i64 %fa to ptr addrspace(1)
  %first = load i32, ptr addrspace(1) %f
  %s = add i64 %tb, 68
  %sa = add i64 %p0, %s
  %g = inttoptr i64 %sa to ptr addrspace(1)
  %second = load i32, ptr addrspace(1) %g
  %v = add i32 %first, %second
  store i32 %v, ptr addrspace(1) %to
  br label %done
done:
  ret void
)");
  GridLaunch launch{.block = {32, 1, 1}};
  launch.window_base = reinterpret_cast<uint64_t>(words);
  launch.window_bytes = kPage;
  launch.Param(from).Param(words).Param(uint64_t{0}).Param(0u);
  EXPECT_FALSE(RunOn(ir, {.block = {32, 1, 1}}, launch).fault);
  for (uint32_t t = 0; t < 16; ++t) EXPECT_EQ(words[t], 2 * (kWords - 33 + 16 + t) + 1) << t;
  munmap(mapped, 2 * kPage);
}

}  // namespace
}  // namespace tutti::compiler
