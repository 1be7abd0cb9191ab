// Checks that cover many lanes, or many accesses, still end at the first byte that is not the client's, and name the
// lane and the address that left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kWords = 1024;  // of the window
constexpr uint32_t kThreads = 64;
const TestTarget kTarget{.block = {kThreads, 1, 1}};

// A window with as much memory before and behind it, which a missing check would let a kernel reach.
class AddressCheck : public ::testing::Test {
 protected:
  uint64_t begin() const { return reinterpret_cast<uint64_t>(words_.data() + kWords); }
  uint64_t end() const { return begin() + 4 * kWords; }
  uint32_t& word(uint64_t address) { return words_[(address - reinterpret_cast<uint64_t>(words_.data())) / 4]; }

  void Build(const std::string& body, uint32_t shared_bytes = 0) {
    auto kernel = BuildWarps(KernelText(body, shared_bytes), kTarget);
    ASSERT_TRUE(kernel) << kernel.error().text;
    kernel_.emplace(std::move(*kernel));
  }
  std::optional<GuestFault> Run(uint64_t p0, uint64_t p1 = 0, uint32_t n = 0) {
    GridLaunch launch{.grid = {blocks_, 1, 1}, .block = {kThreads, 1, 1}};
    launch.window_base = begin();
    launch.window_bytes = 4 * kWords;
    launch.window_reach = reach_;
    launch.window_reach_now = reach_now_;
    return RunGrid(kernel_->descriptor(), launch.Param(p0).Param(p1).Param(uint64_t{0}).Param(n)).fault;
  }
  // How much of the window has memory behind it when blocks begin, and when they call may_touch.
  void Reach(uint64_t begin, uint64_t now) {
    reach_ = begin;
    reach_now_ = now;
  }
  void Blocks(uint32_t count) { blocks_ = count; }
  void ExpectFault(const std::optional<GuestFault>& fault, uint32_t thread, uint64_t address,
                   guest::FaultKind kind = guest::FaultKind::kIllegalAddress) {
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, kind);
    EXPECT_EQ(fault->thread, thread);
    EXPECT_EQ(fault->address, address);
  }

 private:
  std::vector<uint32_t> words_ = std::vector<uint32_t>(3 * kWords, 7);
  std::optional<LoadedKernel> kernel_;
  uint64_t reach_ = 0, reach_now_ = 0;
  uint32_t blocks_ = 1;
};

// %name: pointer to %p0 + `scale` * %tx + `offset`.
std::string At(const std::string& name, int scale, int offset) {
  return "  %" + name + "w = zext i32 %tx to i64\n  %" + name + "m = mul i64 %" + name + "w, " + std::to_string(scale) +
         "\n  %" + name + "b = add i64 %p0, %" + name + "m\n  %" + name + "a = add i64 %" + name + "b, " +
         std::to_string(offset) + "\n  %" + name + " = inttoptr i64 %" + name + "a to ptr addrspace(1)\n";
}

TEST_F(AddressCheck, LanesAStrideApartEndWithTheWindow) {
  for (const char* access :
       {"  store i32 1, ptr addrspace(1) %at\n", "  %v = load volatile i32, ptr addrspace(1) %at\n"}) {
    Build(At("at", 48, 0) + access + "  ret void\n");
    EXPECT_FALSE(Run(begin()));
    EXPECT_FALSE(Run(end() - 63 * 48 - 4));
    ExpectFault(Run(end() - 63 * 48), 63, end());
    ExpectFault(Run(begin() - 4), 0, begin() - 4);
    ExpectFault(Run(begin() - 40 * 48), 0, begin() - 40 * 48);
    ExpectFault(Run(begin() + 2), 0, begin() + 2, guest::FaultKind::kMisalignedAddress);
  }
  EXPECT_EQ(word(end()), 7u);
  EXPECT_EQ(word(begin() - 4), 7u);
}

TEST_F(AddressCheck, LanesAStrideApartMayNotWrapAroundTheAddressSpace) {
  Build(At("at", 48, 0) + "  store i32 1, ptr addrspace(1) %at\n  ret void\n");
  ExpectFault(Run(uint64_t{0} - 48), 0, uint64_t{0} - 48);
  ExpectFault(Run(end() - 48), 1, end());
}

TEST_F(AddressCheck, OneAnswerForManyAccessesHidesNone) {
  // Consecutive words at 0, 400 and 1000 bytes from p0; the store in between is made before the last load faults.
  Build(At("a", 4, 0) + At("b", 4, 400) + At("c", 4, 1000) + R"(
  %x = load i32, ptr addrspace(1) %a
  %y = add i32 %x, 1
  store i32 %y, ptr addrspace(1) %b
  %z = load volatile i32, ptr addrspace(1) %c
  ret void
)");
  EXPECT_FALSE(Run(begin()));
  EXPECT_FALSE(Run(end() - 1000 - 4 * kThreads));
  word(end() - 1000 - 40 * 4 + 400) = 0;
  ExpectFault(Run(end() - 1000 - 40 * 4), 40, end());
  EXPECT_EQ(word(end() - 1000 - 40 * 4 + 400), 8u);
  ExpectFault(Run(end() - 400 - 4 * 10), 10, end());
  ExpectFault(Run(begin() - 4), 0, begin() - 4);
}

// The first of the two is the one that is made.
TEST_F(AddressCheck, EqualLoadsThatBecomeOneKeepTheirLine) {
  Build(R"(  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %a = add i64 %p0, %t4
  %p = inttoptr i64 %a to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %p, !tutti.loc !{i32 31, i32 0, i32 0}
  %y = load i32, ptr addrspace(1) %p, !tutti.loc !{i32 32, i32 0, i32 0}
  %z = mul i32 %x, %y
  store i32 %z, ptr addrspace(1) %p, !tutti.loc !{i32 33, i32 0, i32 0}
  ret void
)");
  const auto fault = Run(end() - 16);
  ExpectFault(fault, 4, end());
  EXPECT_EQ(fault->ptx_line, 31u);
}

TEST_F(AddressCheck, OneAnswerForOneAddressHidesNone) {
  Build(At("a", 0, 8) + At("b", 0, 0) + At("c", 0, 64) + R"(
  %x = load volatile i32, ptr addrspace(1) %a
  store i32 3, ptr addrspace(1) %b
  store i32 4, ptr addrspace(1) %c
  ret void
)");
  EXPECT_FALSE(Run(begin()));
  EXPECT_FALSE(Run(end() - 68));
  ExpectFault(Run(end() - 64), 0, end());
  EXPECT_EQ(word(end() - 64), 3u);
  ExpectFault(Run(begin() - 4), 0, begin() - 4);
  ExpectFault(Run(uint64_t{0} - 8), 0, 0);
}

TEST_F(AddressCheck, EachAccessOfManyIsAlignedForItself) {
  // A byte at 1, a word at 4.
  Build(At("a", 4, 1) + At("b", 4, 4) + R"(
  %x = load volatile i8, ptr addrspace(1) %a
  store i32 3, ptr addrspace(1) %b
  ret void
)");
  EXPECT_FALSE(Run(begin()));
  EXPECT_FALSE(Run(begin() - 1 + 1));
  ExpectFault(Run(begin() + 1), 0, begin() + 5, guest::FaultKind::kMisalignedAddress);
  EXPECT_FALSE(Run(end() - 4 * kThreads - 4));
  ExpectFault(Run(end() - 4 * kThreads), 63, end());
  // The word is the window's first, the byte lies before.
  ExpectFault(Run(begin() - 4), 0, begin() - 3);
}

TEST_F(AddressCheck, WhatWasNeverAllocatedIsNobodys) {
  for (const char* access :
       {"  store i32 1, ptr addrspace(1) %at\n", "  %v = load volatile i32, ptr addrspace(1) %at\n"}) {
    Build(At("at", 4, 0) + access + "  ret void\n");
    Reach(1024, 1024);
    EXPECT_FALSE(Run(begin() + 1024 - 4 * kThreads));
    ExpectFault(Run(begin() + 1024 - 4 * 9), 9, begin() + 1024);
  }
  EXPECT_EQ(word(begin() + 1024), 7u);
}

TEST_F(AddressCheck, WhatWasAllocatedSinceTheBlockBeganIsReached) {
  for (int scale : {4, 48, 0}) {
    Build(At("at", scale, 0) + "  store i32 1, ptr addrspace(1) %at\n  ret void\n");
    const uint64_t last = static_cast<uint64_t>(scale) * (kThreads - 1);
    Reach(16, 16 + last + 4);
    word(begin() + 16 + last) = 0;
    EXPECT_FALSE(Run(begin() + 16));
    EXPECT_EQ(word(begin() + 16 + last), 1u);
    ExpectFault(Run(begin() + 20), scale == 0 ? 0 : 63, begin() + 20 + last);
  }
}

// Code that goes through a row of blocks knows the window as it was in front of the first of them.
TEST_F(AddressCheck, ABlockThatFollowsAnotherReachesNoFurther) {
  constexpr uint32_t kBlockBytes = 4 * kThreads;
  const std::string index = R"(  %x = call i32 @tutti.ctaid.x()
  %first = mul i32 %x, 64
  %i = add i32 %first, %tx
)";
  const std::string at =
      "  %iw = zext i32 %i to i64\n  %i4 = shl i64 %iw, 2\n  %ia = add i64 %p0, %i4\n"
      "  %at = inttoptr i64 %ia to ptr addrspace(1)\n";
  const std::string turned =
      "  %t = xor i32 %i, 1\n  %tw = zext i32 %t to i64\n  %t4 = shl i64 %tw, 2\n"
      "  %ta = add i64 %p0, %t4\n  %at = inttoptr i64 %ta to ptr addrspace(1)\n";
  for (const std::string& form : {at, turned}) {
    const std::string body = index + form + R"(  %v = load i32, ptr addrspace(1) %at
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %at
  ret void
)";
    const auto text = WidenText(KernelText(body), kTarget);
    ASSERT_TRUE(text) << text.error().text;
    EXPECT_THAT(*text, HasSubstr("block.ended:")) << "else this test is of nothing";
    Build(body);
    const uint32_t all = 4 * kWords / kBlockBytes;
    const auto expect = [&](uint32_t blocks, std::optional<uint32_t> fault_in) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks");
      std::vector<uint32_t> before;
      for (uint64_t a = begin(); a < end() + kBlockBytes; a += 4) before.push_back(word(a));
      Blocks(blocks);
      const auto fault = Run(begin());
      ASSERT_EQ(fault.has_value(), fault_in.has_value());
      if (fault) {
        EXPECT_EQ(fault->kind, guest::FaultKind::kIllegalAddress);
        EXPECT_EQ(fault->ctaid[0], *fault_in);
        EXPECT_EQ(fault->address & ~uint64_t{4}, begin() + uint64_t{*fault_in} * kBlockBytes);
      }
      const uint32_t ran = fault_in.value_or(blocks);
      for (size_t i = 0; i < before.size(); ++i) {
        const uint64_t a = begin() + 4 * i;
        ASSERT_EQ(word(a), before[i] + (i < uint64_t{ran} * kThreads ? 1 : 0)) << i;
      }
    };
    Reach(0, 0);
    expect(all, std::nullopt);
    expect(all + 3, all);
    Reach(2 * kBlockBytes, 2 * kBlockBytes);
    expect(2, std::nullopt);
    expect(all, 2);
    Reach(2 * kBlockBytes, 4 * kBlockBytes);  // it has grown since
    expect(4, std::nullopt);
    expect(all, 4);
  }
}

TEST_F(AddressCheck, AVectorMayNotStraddleTheEnd) {
  Build(At("at", 16, 0) +
        "  store <4 x i32> <i32 1, i32 1, i32 1, i32 1>, ptr addrspace(1) %at, align 4\n  ret void\n");
  EXPECT_FALSE(Run(end() - 16 * kThreads));
  ExpectFault(Run(end() - 16 * kThreads + 4), 63, end() - 12);
  EXPECT_EQ(word(end()), 7u);
}

TEST_F(AddressCheck, AnIndexIsInsideOrNot) {
  // p1[index[tx]], signed and unsigned, where thread 5 has an index of its own.
  for (const char* extension : {"sext", "zext"}) {
    Build(At("from", 4, 0) + "  %i = load i32, ptr addrspace(1) %from\n  %w = " + extension + R"( i32 %i to i64
  %b = shl i64 %w, 2
  %a = add i64 %p1, %b
  %at = inttoptr i64 %a to ptr addrspace(1)
  %v = load volatile i32, ptr addrspace(1) %at
  ret void
)");
    const auto fault = [&](uint64_t table, uint32_t index) {
      for (uint32_t i = 0; i < kThreads; ++i) word(begin() + 4 * i) = i;
      word(begin() + 4 * 5) = index;
      return Run(begin(), table);
    };
    const bool is_signed = extension[0] == 's';
    EXPECT_FALSE(fault(begin(), 0));
    EXPECT_FALSE(fault(begin(), kWords - 1));
    ExpectFault(fault(begin(), kWords), 5, end());
    ExpectFault(fault(begin(), ~0u), 5, is_signed ? begin() - 4 : begin() + 4 * uint64_t{~0u});
    ExpectFault(fault(begin(), 0x80000000u), 5,
                is_signed ? begin() - 4 * (uint64_t{1} << 31) : begin() + 4 * (uint64_t{1} << 31));
    ExpectFault(fault(begin(), 0x7fffffffu), 5, begin() + 4 * uint64_t{0x7fffffff});
    // The table begins before the window, or ends behind it, as far as a pointer can.
    ExpectFault(fault(begin() - 4, 9), 0, begin() - 4);
    EXPECT_FALSE(fault(end() - 4 * kThreads, 9));
    ExpectFault(fault(end() - 4 * 8, 7), 8, end());
    ExpectFault(fault(uint64_t{0} - 16, 4), 0, uint64_t{0} - 16);
    ExpectFault(fault(uint64_t{1} << 63, 4), 0, uint64_t{1} << 63);
    ExpectFault(fault(begin() + 2, 4), 0, begin() + 2, guest::FaultKind::kMisalignedAddress);
  }
}

// p1[n + tx], and what surrounds it: consecutive indices in a table that is known when the block begins.
std::string InTable(const std::string& extension, const std::string& access) {
  return "  %i = add i32 %n, %tx\n  %w = " + extension + R"( i32 %i to i64
  %b = shl i64 %w, 2
  %a = add i64 %p1, %b
  %at = inttoptr i64 %a to ptr addrspace(1)
)" + access +
         "  ret void\n";
}
const char* const kLoadThere = "  %v = load volatile i32, ptr addrspace(1) %at\n";
const char* const kStoreThere = "  store i32 1, ptr addrspace(1) %at\n";

TEST_F(AddressCheck, ConsecutiveIndicesAreInsideOrNot) {
  for (const char* extension : {"sext", "zext"}) {
    const bool is_signed = extension[0] == 's';
    for (const char* access : {kLoadThere, kStoreThere}) {
      Build(InTable(extension, access));
      EXPECT_FALSE(Run(0, begin(), 0));
      EXPECT_FALSE(Run(0, begin(), kWords - kThreads));
      ExpectFault(Run(0, begin(), kWords - kThreads + 1), 63, end());
      ExpectFault(Run(0, begin(), kWords - 32), 32, end());
      ExpectFault(Run(0, begin(), kWords), 0, end());
      // Lanes whose index wraps are elsewhere.
      ExpectFault(Run(0, begin(), ~0u), 0, is_signed ? begin() - 4 : begin() + 4 * uint64_t{~0u});
      ExpectFault(Run(0, begin(), ~0u - 9), 0, is_signed ? begin() - 40 : begin() + 4 * uint64_t{~0u - 9});
      ExpectFault(Run(0, begin(), 0x7fffffff), 0, begin() + 4 * uint64_t{0x7fffffff});
      ExpectFault(Run(0, begin(), 0x80000000), 0,
                  is_signed ? begin() - 4 * (uint64_t{1} << 31) : begin() + 4 * (uint64_t{1} << 31));
      // As far as the table itself can be wrong.
      ExpectFault(Run(0, begin() - 4, 0), 0, begin() - 4);
      EXPECT_FALSE(Run(0, begin() - 4, 1));
      EXPECT_FALSE(Run(0, end() - 4 * kThreads, 0));
      ExpectFault(Run(0, end() - 4 * 40, 0), 40, end());
      ExpectFault(Run(0, end(), 0), 0, end());
      ExpectFault(Run(0, uint64_t{0} - 4, 0), 0, uint64_t{0} - 4);
      ExpectFault(Run(0, uint64_t{1} << 63, 0), 0, uint64_t{1} << 63);
      for (const uint64_t odd : {1u, 2u, 3u})
        ExpectFault(Run(0, begin() + odd, 4), 0, begin() + odd + 16, guest::FaultKind::kMisalignedAddress);
    }
    EXPECT_EQ(word(begin() - 4), 7u);
    EXPECT_EQ(word(end()), 7u);
  }
}

TEST_F(AddressCheck, IndicesThatWrapReachBothEndsOfTheirRange) {
  // The table begins where its first indices are below the window and its last ones in it, or the other way around.
  Build(InTable("sext", kStoreThere));
  const uint64_t middle = begin() + 4 * 512;
  EXPECT_FALSE(Run(0, middle, ~0u - 100)) << "negative indices of what lies in the window";
  EXPECT_EQ(word(middle - 4 * 101), 1u);
  Build(InTable("zext", kStoreThere));
  EXPECT_FALSE(Run(0, begin() - 4 * (uint64_t{1} << 32) + 4 * 100, ~0u - 99));
  EXPECT_EQ(word(begin()), 1u);
}

TEST_F(AddressCheck, AnIndexOfATableIsComparedOnce) {
  const auto text = WidenText(KernelText(InTable("zext", kStoreThere)), kTarget);
  ASSERT_TRUE(text) << text.error().text;
  // How many elements the table has is known before the warps run; the index has no comparison of its own.
  const size_t loop = text->find("warps:"), elements = text->find("llvm.umin.i64");
  EXPECT_LT(elements, loop);
  EXPECT_EQ(text->find("icmp ult i64", loop), text->rfind("icmp ult i64"));
}

// Thread t of those below 32 stores to shared[4 t + offset], of 256 bytes.
std::string SharedBehindABranch(int offset) {
  return "  %low = icmp ult i32 %tx, 32\n  br i1 %low, label %in, label %out\nin:\n  %w = zext i32 %tx to i64\n  %b = "
         "shl i64 %w, 2\n  %a = add i64 %b, " +
         std::to_string(offset) +
         "\n  %s = inttoptr i64 %a to ptr addrspace(3)\n  store i32 1, ptr addrspace(3) %s\n  br label %out\nout:\n  "
         "ret void\n";
}

TEST_F(AddressCheck, WhatABranchProvesIsNotChecked) {
  const auto text = WidenText(KernelText(SharedBehindABranch(128), 256), kTarget);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, Not(AnyOf(HasSubstr("tutti_check"), HasSubstr("tutti_rare"))));
  Build(SharedBehindABranch(128), 256);
  EXPECT_FALSE(Run(0));
}

TEST_F(AddressCheck, WhatABranchDoesNotProveIsChecked) {
  Build(SharedBehindABranch(132), 256);
  const auto fault = Run(0);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thread, 31u);
  Build(SharedBehindABranch(126), 256);
  const auto misaligned = Run(0);
  ASSERT_TRUE(misaligned);
  EXPECT_EQ(misaligned->kind, guest::FaultKind::kMisalignedAddress);
}

TEST_F(AddressCheck, TheFirstVariableIsNotChecked) {
  const std::string body = "  store i32 1, ptr addrspace(3) null\n  ret void\n";
  const auto text = WidenText(KernelText(body, 4), kTarget);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, Not(HasSubstr("tutti_check")));
  // As far as there is memory.
  EXPECT_THAT(*WidenText(KernelText(body, 3), kTarget), HasSubstr("tutti_check"));
}

// Warps load a block of eight rows of 16 bytes from %p0 on, `distance` bytes apart, and store what they get at %p1.
std::string BlockOfAMatrix(const std::string& arrangement, int64_t distance) {
  return "  %m = inttoptr i64 %p0 to ptr addrspace(1)\n  %v = call i32 @tutti.matrix_load." + arrangement +
         ".p1(ptr addrspace(1) %m, i64 " + std::to_string(distance) + ")\n" + R"(
  %w = zext i32 %tx to i64
  %o = shl i64 %w, 2
  %a = add i64 %p1, %o
  %to = inttoptr i64 %a to ptr addrspace(1)
  store i32 %v, ptr addrspace(1) %to
)";
}

TEST_F(AddressCheck, RowsOfAMatrixEndWithTheWindow) {
  for (const int64_t distance : {16, 48, 256}) {
    const uint64_t last = static_cast<uint64_t>(7 * distance);
    for (const auto& [arrangement, last_rows_thread] : {std::pair{"along.32", 28u}, std::pair{"across.16", 7u}}) {
      Build(BlockOfAMatrix(arrangement, distance) + "  ret void\n");
      EXPECT_FALSE(Run(begin(), begin()));
      EXPECT_FALSE(Run(end() - 16 - last, begin()));
      ExpectFault(Run(end() - 12 - last, begin()), last_rows_thread, end() - 12);
      ExpectFault(Run(begin() - 4, begin()), 0, begin() - 4);
      ExpectFault(Run(begin() + 1, begin()), 0, begin() + 1, guest::FaultKind::kMisalignedAddress);
    }
  }
}

TEST_F(AddressCheck, RowsOfAMatrixInTheMiddleAreInsideIfTheOutermostAre) {
  // Seven times this distance is 16, and the rows between lie all over the address space.
  const auto seventh = static_cast<int64_t>(0x6db6db6db6db6db7u * 16);
  ASSERT_EQ(7 * static_cast<uint64_t>(seventh), 16u);
  Build(BlockOfAMatrix("along.32", seventh) + "  ret void\n");
  EXPECT_TRUE(Run(begin(), begin()));
  Build(BlockOfAMatrix("along.32", 6) + "  ret void\n");
  ExpectFault(Run(begin(), begin()), 4, begin() + 6, guest::FaultKind::kMisalignedAddress);
}

TEST_F(AddressCheck, RowsOfAMatrixAreCheckedWhicheverLanesAsk) {
  Build("  %bit = and i32 %tx, 1\n  %odd = icmp eq i32 %bit, 1\n  br i1 %odd, label %in, label %out\nin:\n" +
        BlockOfAMatrix("along.32", 48) + "  br label %out\nout:\n  ret void\n");
  EXPECT_FALSE(Run(end() - 16 - 7 * 48, begin()));
  ExpectFault(Run(end() - 12 - 7 * 48, begin()), 1, end() - 12);
}

TEST_F(AddressCheck, RowsThatLanesNameAreOfTheBlocksSharedMemory) {
  const auto body = [](const char* type, const char* function, int offset) {
    return std::string("  %lane = call i32 @tutti.laneid()\n  %scaled = shl i32 %lane, 4\n  %row = add i32 %scaled, ") +
           std::to_string(offset) + "\n  %all = call " + type + " @tutti.matrix_rows." + function +
           "(i32 %row)\n  %v = extractvalue " + type + R"( %all, 1
  %to = inttoptr i64 %p1 to ptr addrspace(1)
  store i32 %v, ptr addrspace(1) %to
  ret void
)";
  };
  const char* const four = "{i32, i32, i32, i32}";
  Build(body(four, "across.x4", 0), 512);
  EXPECT_FALSE(Run(0, begin()));
  Build(body(four, "across.x4", 4), 512);
  const auto fault = Run(0, begin());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thread, 31u);
  // Two blocks are of the first sixteen lanes' rows: what the others name does not matter.
  Build(body("{i32, i32}", "along.x2", 256), 512);
  EXPECT_FALSE(Run(0, begin()));
  Build(body("{i32, i32}", "along.x2", 272), 512);
  EXPECT_TRUE(Run(0, begin()));
}

}  // namespace
}  // namespace tutti::compiler
