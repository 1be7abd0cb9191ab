// Accesses whose addresses are legal, but not where they most likely are.
#include "compiler/widen/memory/rare_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kThreads = 64, kElements = 4 * kThreads;

// p1[i] = p0[i] in elements of this type, in the threads below n; `index` makes %i, an i64.
std::string Copy(const std::string& type, const std::string& bytes, const std::string& index) {
  return KernelText("  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" + index +
                    "  %b = mul i64 %i, " + bytes +
                    "\n  %fa = add i64 %p0, %b\n  %from = inttoptr i64 %fa to ptr addrspace(1)\n"
                    "  %ta = add i64 %p1, %b\n  %to = inttoptr i64 %ta to ptr addrspace(1)\n  %v = load " +
                    type + ", ptr addrspace(1) %from, align " + bytes + "\n  store " + type +
                    " %v, ptr addrspace(1) %to, align " + bytes + "\n  br label %done\ndone:\n  ret void\n");
}

// All lanes have one base; a base for each row of 16 threads; an index that might wrap.
const char* const kOneBase = "  %i = zext i32 %tx to i64\n";
const char* const kRows =
    "  %x = zext i32 %tx to i64\n  %y = zext i32 %ty to i64\n  %row = mul i64 %y, 40\n  %i = add "
    "i64 %x, %row\n";
const char* const kWrapping = "  %less = add i32 %tx, %n\n  %w = sub i32 %less, 16\n  %i = zext i32 %w to i64\n";

struct Case {
  const char* type;
  const char* bytes;
};
const Case kCases[] = {{"i8", "1"},     {"i16", "2"},       {"float", "4"},     {"i64", "8"},
                       {"double", "8"}, {"<2 x i32>", "8"}, {"<4 x i32>", "16"}};

// Which elements are copied: `reached` of each.
void ExpectCopies(const char* index, std::array<uint32_t, 3> block, uint32_t n, bool (*is_copied)(uint32_t, uint32_t)) {
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
    for (const Case& type : kCases) {
      SCOPED_TRACE(std::string(cpu) + ' ' + type.type + index);
      const auto bytes = static_cast<uint32_t>(std::stoul(type.bytes));
      alignas(64) static uint8_t memory[2 * 16 * kElements];
      for (uint32_t i = 0; i < sizeof memory / 2; ++i) memory[i] = static_cast<uint8_t>(i * 7 % 251 + 1);
      uint8_t* const to = memory + sizeof memory / 2;
      std::fill_n(to, sizeof memory / 2, uint8_t{0});
      GridLaunch launch{.block = block};
      launch.window_base = reinterpret_cast<uint64_t>(memory);
      launch.window_bytes = launch.window_reach_now = sizeof memory;
      launch.window_reach = 16;  // the first comparison finds nothing
      launch.Param(reinterpret_cast<uint64_t>(memory))
          .Param(reinterpret_cast<uint64_t>(to))
          .Param(uint64_t{0})
          .Param(n);
      TestTarget target{.target = HostTarget::Named(cpu)};
      std::copy(block.begin(), block.end(), target.block);
      const auto kernel = BuildWarps(Copy(type.type, type.bytes, index), target);
      ASSERT_TRUE(kernel) << kernel.error().text;
      const GridResult result = RunGrid(kernel->descriptor(), launch);
      EXPECT_FALSE(result.fault);
      for (uint32_t i = 0; i < kElements * bytes; ++i)
        ASSERT_EQ(to[i], is_copied(i / bytes, n) ? memory[i] : 0) << "byte " << i;
    }
  }
}

TEST(RareAccess, LanesWithOneBaseAreCopied) {
  ExpectCopies(kOneBase, {kThreads, 1, 1}, 50, [](uint32_t i, uint32_t n) { return i < n; });
}

TEST(RareAccess, RowsOfLanesAreCopied) {
  ExpectCopies(kRows, {16, 4, 1}, 13, [](uint32_t i, uint32_t n) { return i < 160 && i % 40 < n; });
}

TEST(RareAccess, LanesOfAnIndexThatMayWrapAreCopied) {
  ExpectCopies(kWrapping, {kThreads, 1, 1}, 40, [](uint32_t i, uint32_t n) { return i >= n - 16 && i < 2 * n - 16; });
}

TEST(RareAccess, IsOneCall) {
  auto text =
      WidenText(Copy("float", "4", kOneBase), {.target = HostTarget::Named("x86-64-v4"), .block = {kThreads, 1, 1}});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, ContainsRegex("call <32 x i32> @tutti_rare_load_run_i32"));
  EXPECT_THAT(*text, ContainsRegex("call void @tutti_rare_store_run_i32"));
  EXPECT_THAT(*text, Not(HasSubstr("masked.gather")));
  EXPECT_THAT(*text, Not(HasSubstr("masked.scatter")));
  EXPECT_THAT(*text, Not(HasSubstr("@_Z"))) << "a function of the runtime by another name than tutti_*";
}

TEST(RareAccess, AccessesAtManyOffsetsShareATable) {
  const std::string ir = KernelText(R"(
  %i = zext i32 %tx to i64
  %b = mul i64 %i, 4
  %a = add i64 %p0, %b
  %near = add i64 %a, 1024
  %far = add i64 %a, 8192
  %from = inttoptr i64 %near to ptr addrspace(1)
  %to = inttoptr i64 %far to ptr addrspace(1)
  %v = load float, ptr addrspace(1) %from, align 4
  store float %v, ptr addrspace(1) %to, align 4
  ret void
)");
  auto text = WidenText(ir, {.target = HostTarget::Named("x86-64-v4"), .block = {kThreads, 1, 1}});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, HasSubstr("@tutti.lanes = "));
  EXPECT_THAT(*text, Not(HasSubstr("@tutti.lanes.")));
}

// Of all that is in registers: vectors, and what lanes share.
TEST(RareAccess, KeepsWhatItsCallerHas) {
  constexpr uint32_t kVectors = 40, kShared = 14;
  std::string ir = "  %t = zext i32 %tx to i64\n  %t4 = shl i64 %t, 2\n  %mine = add i64 %p0, %t4\n";
  std::string sum = "  %s0 = add i32 0, 0\n";
  uint32_t values = 0;
  const auto load = [&](const std::string& base, uint32_t offset) {
    const std::string i = std::to_string(values), next = std::to_string(++values);
    ir += "  %a" + i + " = add i64 " + base + ", " + std::to_string(offset) + "\n  %q" + i + " = inttoptr i64 %a" + i +
          " to ptr addrspace(1)\n  %v" + i + " = load i32, ptr addrspace(1) %q" + i + "\n";
    sum += "  %m" + i + " = mul i32 %v" + i + ", " + next + "\n  %s" + next + " = add i32 %s" + i + ", %m" + i + "\n";
  };
  for (uint32_t k = 0; k < kVectors; ++k) load("%mine", 4 * kThreads * k);
  for (uint32_t k = 0; k < kShared; ++k) load("%p0", 4 * k);
  ir = KernelText(ir + sum + "  %ta = add i64 %p1, %t4\n  %to = inttoptr i64 %ta to ptr addrspace(1)\n  store i32 %s" +
                  std::to_string(values) + ", ptr addrspace(1) %to\n  ret void\n");
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
    SCOPED_TRACE(cpu);
    alignas(64) static uint32_t memory[(kVectors + 1) * kThreads];
    for (uint32_t i = 0; i < kVectors * kThreads; ++i) memory[i] = i * i + 7;
    uint32_t* const to = memory + kVectors * kThreads;
    GridLaunch launch{.block = {kThreads, 1, 1}};
    launch.window_base = reinterpret_cast<uint64_t>(memory);
    launch.window_bytes = launch.window_reach_now = sizeof memory;
    launch.window_reach = 16;  // the first comparison finds nothing
    launch.Param(launch.window_base).Param(reinterpret_cast<uint64_t>(to)).Param(uint64_t{0}).Param(0u);
    const auto kernel = BuildWarps(ir, {.target = HostTarget::Named(cpu), .block = {kThreads, 1, 1}});
    ASSERT_TRUE(kernel) << kernel.error().text;
    EXPECT_FALSE(RunGrid(kernel->descriptor(), launch).fault);
    for (uint32_t t = 0; t < kThreads; ++t) {
      uint32_t expected = 0;
      for (uint32_t k = 0; k < kVectors; ++k) expected += (k + 1) * memory[kThreads * k + t];
      for (uint32_t k = 0; k < kShared; ++k) expected += (kVectors + k + 1) * memory[k];
      EXPECT_EQ(to[t], expected) << t;
    }
  }
}

}  // namespace
}  // namespace tutti::compiler
