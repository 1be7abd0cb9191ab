// Local arrays lie side by side where they can, and hold what they held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kBlock = 64;

std::string WideCode(const std::string& ir, bool check_addresses = false) {
  const TestTarget target{
      .target = HostTarget::Named("x86-64-v4"), .block = {kBlock, 1, 1}, .check_addresses = check_addresses};
  auto text = WidenText(ir, target);
  return text ? *text : text.error().text;
}

// Of accesses that may leave their memory.
size_t ChecksIn(const std::string& code) {
  size_t checks = 0;
  for (const char* name : {" @tutti_check", " @tutti_rare_"}) {
    const std::string call = std::string("call void") + name;
    for (size_t at = 0; (at = code.find(call, at)) != std::string::npos; ++at) ++checks;
  }
  return checks;
}

// p0[tid] of each thread, started as `words`.
std::vector<uint32_t> WordsOf(const std::string& ir, uint32_t n,
                              std::vector<uint32_t> words = std::vector<uint32_t>(kBlock)) {
  auto kernel = BuildWarps(ir, {.block = {kBlock, 1, 1}});
  EXPECT_TRUE(kernel) << kernel.error().text;
  if (!kernel) return words;
  GridLaunch launch{.block = {kBlock, 1, 1}};
  launch.window_base = reinterpret_cast<uint64_t>(words.data());
  launch.window_bytes = 4 * words.size();
  EXPECT_FALSE(
      RunGrid(kernel->descriptor(), launch.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(n)).fault);
  return words;
}

const std::string kOut = R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %oa = add i64 %p0, %b
  %out = inttoptr i64 %oa to ptr addrspace(1)
)";

// Stores at index n & 7, adds what is there to what is at 3.
const std::string kOneIndex = KernelText(kOut + R"(
  %array = alloca [8 x i32]
  %third = getelementptr i8, ptr %array, i64 12
  store i32 1000, ptr %third
  %i = and i32 %n, 7
  %iw = zext i32 %i to i64
  %at = getelementptr [8 x i32], ptr %array, i64 0, i64 %iw
  store i32 %tx, ptr %at
  %x = load i32, ptr %at
  %y = load i32, ptr %third
  %v = add i32 %x, %y
  store i32 %v, ptr addrspace(1) %out
  ret void
)");

TEST(InterleavedLocals, AnIndexThatAllLanesShareIsAVector) {
  EXPECT_THAT(WideCode(kOneIndex), HasSubstr("store <32 x i32>"));
  EXPECT_THAT(WideCode(kOneIndex), Not(HasSubstr("scatter")));
  EXPECT_THAT(WideCode(kOneIndex), Not(HasSubstr("gather")));
  EXPECT_EQ(ChecksIn(WideCode(kOneIndex, /*check_addresses=*/true)), 1u) << "of the result: the index has three bits";
  const auto other = WordsOf(kOneIndex, 5), same = WordsOf(kOneIndex, 3);
  for (uint32_t t = 0; t < kBlock; ++t) {
    EXPECT_EQ(other[t], t + 1000);
    EXPECT_EQ(same[t], 2 * t);
  }
}

TEST(InterleavedLocals, LanesHaveIndicesOfTheirOwn) {
  // array[i] = 100 i + tid for all i, and then array[tid & 7].
  std::string body = kOut + "  %array = alloca [8 x i32]\n";
  for (int i = 0; i < 8; ++i) {
    const std::string s = std::to_string(i);
    body += "  %e" + s + " = getelementptr i8, ptr %array, i64 " + std::to_string(4 * i) + "\n  %v" + s +
            " = add i32 %tx, " + std::to_string(100 * i) + "\n  store i32 %v" + s + ", ptr %e" + s + "\n";
  }
  const std::string ir = KernelText(body + R"(
  %i = and i32 %tx, 7
  %iw = zext i32 %i to i64
  %ib = shl i64 %iw, 2
  %at = getelementptr i8, ptr %array, i64 %ib
  %x = load i32, ptr %at
  store i32 %x, ptr addrspace(1) %out
  ret void
)");
  const auto words = WordsOf(ir, 0);
  for (uint32_t t = 0; t < kBlock; ++t) EXPECT_EQ(words[t], 100 * (t & 7) + t);
}

TEST(InterleavedLocals, WideAccessesAreMadeInPieces) {
  // A vector of two numbers of 64 bits is stored, and its four words are read one by one, and all four at once.
  const std::string ir = KernelText(kOut + R"(
  %array = alloca [32 x i8], align 16
  %t64 = zext i32 %tx to i64
  %high = shl i64 %t64, 33
  %first = or i64 %high, 7
  %v0 = insertelement <2 x i64> zeroinitializer, i64 %first, i64 0
  %v1 = insertelement <2 x i64> %v0, i64 %t64, i64 1
  %i = and i32 %n, 1
  %iw = zext i32 %i to i64
  %ib = shl i64 %iw, 4
  %at = getelementptr i8, ptr %array, i64 %ib
  store <2 x i64> %v1, ptr %at, align 16
  %a1 = getelementptr i8, ptr %at, i64 4
  %w1 = load i32, ptr %a1
  %all = load <4 x i32>, ptr %at, align 16
  %e0 = extractelement <4 x i32> %all, i64 0
  %e2 = extractelement <4 x i32> %all, i64 2
  %e3 = extractelement <4 x i32> %all, i64 3
  %d = load double, ptr %at
  %db = bitcast double %d to i64
  %same = icmp eq i64 %db, %first
  %one = zext i1 %same to i32
  %s1 = mul i32 %e2, 1000
  %s2 = add i32 %s1, %w1
  %s3 = add i32 %s2, %e0
  %s4 = add i32 %s3, %e3
  %s5 = add i32 %s4, %one
  store i32 %s5, ptr addrspace(1) %out
  ret void
)");
  EXPECT_THAT(WideCode(ir), Not(HasSubstr("scatter")));
  for (const uint32_t n : {0u, 1u}) {
    const auto words = WordsOf(ir, n);
    for (uint32_t t = 0; t < kBlock; ++t) EXPECT_EQ(words[t], 1000 * t + 2 * t + 7 + 1) << n;
  }
}

TEST(InterleavedLocals, OneOfTwoElementsIsChosenByALane) {
  const std::string ir = KernelText(kOut + R"(
  %array = alloca [8 x i32]
  %a1 = getelementptr i8, ptr %array, i64 4
  %a6 = getelementptr i8, ptr %array, i64 24
  store i32 %tx, ptr %a1
  %m = mul i32 %tx, 3
  store i32 %m, ptr %a6
  %bit = and i32 %tx, 1
  %odd = icmp ne i32 %bit, 0
  %at = select i1 %odd, ptr %a1, ptr %a6
  %x = load i32, ptr %at
  store i32 %x, ptr addrspace(1) %out
  ret void
)");
  EXPECT_THAT(WideCode(ir), HasSubstr("store <32 x i32>"));
  const auto words = WordsOf(ir, 0);
  for (uint32_t t = 0; t < kBlock; ++t) EXPECT_EQ(words[t], t % 2 != 0 ? t : 3 * t);
}

TEST(InterleavedLocals, AnArrayWhoseAddressGoesElsewhereStaysTogether) {
  // Of each thread's own 32 bytes the second word, by an address that was made of the first's as a number.
  const std::string ir = KernelText(kOut + R"(
  %array = alloca [8 x i32]
  %second = getelementptr i8, ptr %array, i64 4
  store i32 %tx, ptr %second
  %number = ptrtoint ptr %array to i64
  %mixed = mul i64 %number, 3
  %again = sub i64 %mixed, %number
  %less = sub i64 %again, %number
  %next = add i64 %less, 4
  %at = inttoptr i64 %next to ptr
  %x = load i32, ptr %at
  store i32 %x, ptr addrspace(1) %out
  ret void
)");
  const auto words = WordsOf(ir, 0);
  for (uint32_t t = 0; t < kBlock; ++t) EXPECT_EQ(words[t], t);
}

TEST(InterleavedLocals, CannotBeLeft) {
  const std::string ir = KernelText(R"(
  %array = alloca [8 x i32]
  %i = add i32 %tx, %n
  %w = zext i32 %i to i64
  %at = getelementptr [8 x i32], ptr %array, i64 0, i64 %w
  store i32 1, ptr %at
  %third = getelementptr i8, ptr %array, i64 12
  %x = load i32, ptr %third
  %out = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 %x, ptr addrspace(1) %out
  ret void
)");
  for (const uint32_t n : {8u * 32, 1u << 20, 0u - 64}) {
    auto kernel = BuildWarps(ir, {.block = {32, 1, 1}});
    ASSERT_TRUE(kernel) << kernel.error().text;
    std::vector<uint32_t> words(64);
    GridLaunch launch{.block = {32, 1, 1}};
    launch.window_base = reinterpret_cast<uint64_t>(words.data());
    launch.window_bytes = 4 * words.size();
    const auto result =
        RunGrid(kernel->descriptor(), launch.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(n));
    ASSERT_TRUE(result.fault) << n;
    EXPECT_EQ(result.fault->kind, guest::FaultKind::kIllegalAddress);
  }
}

TEST(LocalMemory, EndsWhereTheDescriptorCanSayIt) {
  // What lies inside its array is not checked: the array must be there.
  const auto array = [](uint64_t bytes) {
    return KernelText("  %array = alloca [" + std::to_string(bytes) + R"( x i8], align 16
  %number = ptrtoint ptr %array to i64
  %out = inttoptr i64 %p0 to ptr addrspace(1)
  store i64 %number, ptr addrspace(1) %out
  store volatile i32 1, ptr %array
  ret void
)");
  };
  EXPECT_TRUE(BuildWarps(array(512 << 10), {.block = {32, 1, 1}}));
  for (const uint64_t bytes : {uint64_t{1} << 20, (uint64_t{1} << 32) + 64}) {
    const auto kernel = BuildWarps(array(bytes), {.block = {32, 1, 1}});
    ASSERT_FALSE(kernel) << bytes;
    EXPECT_THAT(kernel.error().text, HasSubstr("bytes of local memory"));
  }
}

}  // namespace
}  // namespace tutti::compiler
