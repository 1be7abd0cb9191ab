// What LLVM is spared: values that no lane reads any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <string>

#include "compiler/widen/analysis/lane_variables.h"
#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Sums of what lanes take on different ways, for as many rounds as the lane's number. In every second round some may
// be at `join` when others begin `late`.
std::string SumsInALoop() {
  return KernelText(R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a0 = add i64 %p0, %b
  %a = inttoptr i64 %a0 to ptr addrspace(1)
  br label %round
round:
  %i = phi i32 [ 0, %0 ], [ %i1, %back ]
  %sum = phi i32 [ 0, %0 ], [ %sum1, %back ]
  %second = trunc i32 %i to i1
  br i1 %second, label %early, label %late
early:
  %v = load volatile i32, ptr addrspace(1) %a
  %odd = trunc i32 %v to i1
  br i1 %odd, label %join, label %late
late:
  %w1 = load volatile i32, ptr addrspace(1) %a
  %big = icmp ugt i32 %w1, 100
  br i1 %big, label %deep, label %join
deep:
  %w2 = load volatile i32, ptr addrspace(1) %a
  br label %join
join:
  %x = phi i32 [ %v, %early ], [ %w1, %late ], [ %w2, %deep ]
  %sum1 = add i32 %sum, %x
  br label %back
back:
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %tx
  br i1 %more, label %round, label %done
done:
  store i32 %sum1, ptr addrspace(1) %a
  ret void
)");
}

// What has zeros where the loop begins: the lanes' sums, and those of lanes that have left it. No mask or value of a
// way within it.
TEST(Slots, WhatARoundLeavesIsNotCarriedIntoTheNext) {
  const auto text = WidenText(SumsInALoop(), {.block = {32, 1, 1}, .check_addresses = false});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_EQ(Count(*text, "[ zeroinitializer, %warps ]"), 2u) << *text;
}

// Each lane leaves where its word says: 80 ways into one block.
std::string ManyWays(unsigned ways) {
  std::string body = R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a0 = add i64 %p0, %b
  %a = inttoptr i64 %a0 to ptr addrspace(1)
  br label %way0
)";
  std::string phi = "join:\n  %sum = phi i32 ";
  for (unsigned i = 0; i < ways; ++i) {
    const std::string n = std::to_string(i), next = i + 1 < ways ? "way" + std::to_string(i + 1) : "last";
    body += "way" + n + ":\n  %v" + n + " = load volatile i32, ptr addrspace(1) %a\n  %c" + n + " = icmp eq i32 %v" +
            n + ", " + n + "\n  br i1 %c" + n + ", label %join, label %" + next + "\n";
    phi += "[ " + std::to_string(1000 + i) + ", %way" + n + " ], ";
  }
  return KernelText(body + "last:\n  br label %join\n" + phi + R"([ 7, %last ]
  store i32 %sum, ptr addrspace(1) %a
  ret void
)");
}

TEST(Slots, OfABlockThatManyWaysLeadToStayInMemory) {
  const std::string ir = ManyWays(80);
  const auto text = WidenText(ir, {.block = {32, 1, 1}, .check_addresses = false});
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_THAT(*text, HasSubstr("store volatile i32"));
  EXPECT_EQ(Count(*text, "phi <32 x i32>"), 0u);

  std::vector<uint32_t> words(32), expected(32);
  for (uint32_t i = 0; i < 32; ++i) {
    words[i] = i * 3;
    expected[i] = words[i] < 80 ? 1000 + words[i] : 7;
  }
  auto kernel = BuildWarps(ir, {.block = {32, 1, 1}});
  ASSERT_TRUE(kernel) << kernel.error().text;
  RunGrid(kernel->descriptor(),
          GridLaunch{.block = {32, 1, 1}}.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u));
  EXPECT_EQ(words, expected);
}

// In each of a lane's rounds its number says which of 80 ways it takes, or none of them. Every second round begins in
// the middle, where lanes of the round before must not be found.
std::string ManyWaysInALoop(uint32_t ways) {
  std::string text = R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a0 = add i64 %p0, %b
  %a = inttoptr i64 %a0 to ptr addrspace(1)
  %rounds = and i32 %tx, 7
  br label %round
round:
  %i = phi i32 [ 0, %0 ], [ %i1, %back ]
  %sum = phi i32 [ 0, %0 ], [ %sum1, %back ]
  %v = load volatile i32, ptr addrspace(1) %a
  %number = add i32 %v, %i
  %second = trunc i32 %i to i1
  br i1 %second, label %way40, label %way0
)";
  std::string phi = "join:\n  %met = phi i32 ";
  for (uint32_t i = 0; i < ways; ++i) {
    const std::string n = std::to_string(i), next = i + 1 < ways ? "way" + std::to_string(i + 1) : "none";
    text += "way" + n + ":\n  %v" + n + " = load volatile i32, ptr addrspace(1) %a\n  %c" + n +
            " = icmp eq i32 %number, " + n + "\n  br i1 %c" + n + ", label %join, label %" + next + "\n";
    phi += (i != 0 ? ", [ " : "[ ") + std::to_string(1000 + i) + ", %way" + n + " ]";
  }
  return KernelText(text + "none:\n  br label %back\n" + phi + R"(
  %w2 = load volatile i32, ptr addrspace(1) %a
  br label %back
back:
  %x = phi i32 [ %met, %join ], [ 5, %none ]
  %sum1 = add i32 %sum, %x
  %i1 = add i32 %i, 1
  %more = icmp ule i32 %i1, %rounds
  br i1 %more, label %round, label %done
done:
  store i32 %sum1, ptr addrspace(1) %a
  ret void
)");
}

TEST(Slots, ManyWaysInALoopBringNobodyOfAnEarlierRound) {
  constexpr uint32_t kWays = 80;
  const std::string ir = ManyWaysInALoop(kWays);
  for (const char* cpu : {"x86-64-v3", ""}) {
    for (const uint32_t optimize : {0u, 2u}) {
      TestTarget target{.block = {32, 1, 1}, .optimize = optimize};
      if (*cpu != '\0') target.target = HostTarget::Named(cpu);
      std::vector<uint32_t> words(32), expected(32);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        words[lane] = lane * 3;
        for (uint32_t i = 0; i <= lane % 8; ++i) {
          const uint32_t number = words[lane] + i;
          expected[lane] += number < kWays && (i % 2 == 0 || number >= 40) ? 1000 + number : 5;
        }
      }
      auto kernel = BuildWarps(ir, target);
      ASSERT_TRUE(kernel) << kernel.error().text;
      RunGrid(kernel->descriptor(),
              GridLaunch{.block = {32, 1, 1}}.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u));
      EXPECT_EQ(words, expected) << cpu << " at " << optimize;
    }
  }
}

// Lanes end in a function where their word says so; the others go on behind the call.
TEST(Slots, LanesThatHaveEndedAreTakenFromAWordOfBits) {
  const std::string ir = KernelText(R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %a0 = add i64 %p0, %b
  %a = inttoptr i64 %a0 to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %a
  call void @end_if(i32 %v)
  store i32 7, ptr addrspace(1) %a
  ret void
)") + R"(
define internal void @end_if(i32 %v) noinline {
  %ends = icmp ne i32 %v, 0
  br i1 %ends, label %end, label %rest
end:
  call void @tutti.exit()
  unreachable
rest:
  ret void
}
)";
  constexpr uint32_t kEnding = 0x8a53c1e6;
  for (const char* cpu : {"x86-64-v3", ""}) {
    TestTarget target{.block = {32, 1, 1}};
    if (*cpu != '\0') target.target = HostTarget::Named(cpu);
    std::vector<uint32_t> words(32), expected(32);
    for (uint32_t i = 0; i < 32; ++i) {
      words[i] = kEnding >> i & 1;
      expected[i] = words[i] != 0 ? 1 : 7;
    }
    auto kernel = BuildWarps(ir, target);
    ASSERT_TRUE(kernel) << kernel.error().text;
    RunGrid(kernel->descriptor(),
            GridLaunch{.block = {32, 1, 1}}.Param(words.data()).Param(uint64_t{0}).Param(uint64_t{0}).Param(0u));
    EXPECT_EQ(words, expected) << cpu;
  }
}

// A value that is used in its own block and twice in another, to which a second way has come.
TEST(LaneVariables, ALostValueIsLoadedOnceForABlockAndNotInItsOwn) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(R"(
define i32 @f(i1 %p, ptr %word) {
entry:
  br i1 %p, label %own, label %other
own:
  %value = load volatile i32, ptr %word
  %here = add i32 %value, 1
  store volatile i32 %here, ptr %word
  br label %other
other:
  store volatile i32 0, ptr %word
  ret i32 0
}
)",
                                                diagnostic, context);
  ASSERT_NE(module, nullptr) << diagnostic.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::Instruction* value = nullptr;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.getName() == "value") value = &instruction;
  }
  llvm::BasicBlock& other = function.back();
  auto* twice = llvm::BinaryOperator::CreateAdd(value, value, "twice", other.begin());
  other.getTerminator()->setOperand(0, twice);

  LaneVariables variables(function);
  variables.KeepWhatIsLost();
  variables.StayInMemory();
  variables.Promote();
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  size_t loads = 0, stores = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr || !llvm::isa<llvm::AllocaInst>(pointer)) continue;
    ++(llvm::isa<llvm::LoadInst>(instruction) ? loads : stores);
  }
  EXPECT_EQ(loads, 1u);
  EXPECT_EQ(stores, 1u);
}

}  // namespace
}  // namespace tutti::compiler
