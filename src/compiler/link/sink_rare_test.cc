#include "compiler/link/sink_rare.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

namespace tutti::compiler {
namespace {

// A loop whose rare block needs %sum, and whose common path needs %limit.
constexpr const char* kLoop = R"(
  declare void @use(i64)
  define void @f(i64 %a, i64 %b, i64 %n) {
  entry:
    %double = mul i64 %a, 3
    %sum = add i64 %double, %b
    %limit = mul i64 %b, 5
    br label %loop
  loop:
    %i = phi i64 [ 0, %entry ], [ %next, %join ]
    %ok = icmp ult i64 %i, %limit
    br i1 %ok, label %join, label %rare, !prof !0
  rare:
    call void @use(i64 %sum)
    br label %join
  join:
    %next = add i64 %i, 1
    %more = icmp ult i64 %next, %n
    br i1 %more, label %loop, label %done
  done:
    ret void
  }
  !0 = !{!"branch_weights", i32 1048575, i32 1}
)";

class SinkRare : public testing::Test {
 protected:
  llvm::Function& Run(std::string text) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str();
    llvm::FunctionAnalysisManager analyses;
    analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    llvm::Function& function = *module_->getFunction("f");
    SinkRarePass().run(function, analyses);
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    return function;
  }
  static std::string BlockOf(const llvm::Function& function, llvm::StringRef name) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        if (instruction.getName() == name) return block.getName().str();
      }
    }
    return "nowhere";
  }
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(SinkRare, TakesWholeChainsIntoTheOnlyBlockThatNeedsThem) {
  const llvm::Function& function = Run(kLoop);
  EXPECT_EQ(BlockOf(function, "sum"), "rare");
  EXPECT_EQ(BlockOf(function, "double"), "rare");
}

TEST_F(SinkRare, LeavesWhatTheCommonPathNeeds) { EXPECT_EQ(BlockOf(Run(kLoop), "limit"), "entry"); }

TEST_F(SinkRare, LeavesEverythingWhereNoBranchIsRare) {
  std::string text = kLoop;
  text.replace(text.find("1048575"), 7, "1");
  EXPECT_EQ(BlockOf(Run(text), "sum"), "entry");
}

// The hot access adds %p and %i itself, if nothing else of the hot path wants the sum.
constexpr const char* kTable = R"(
  declare void @use(i64)
  define float @f(i64 %p, i64 %i, i64 %n) {
  entry:
    %scaled = shl i64 %i, 2
    %address = add i64 %p, %scaled
    %ok = icmp ult i64 %i, %n
    br i1 %ok, label %access, label %rare, !prof !0
  rare:
    call void @use(i64 %address)
    br label %access
  access:
    %pointer = inttoptr i64 %address to ptr
    %v = load float, ptr %pointer
    ret float %v
  }
  !0 = !{!"branch_weights", i32 1048575, i32 1}
)";

size_t AddsIn(const llvm::Function& function, llvm::StringRef block_name) {
  size_t adds = 0;
  for (const llvm::BasicBlock& block : function) {
    if (block.getName() != block_name) continue;
    for (const llvm::Instruction& instruction : block)
      adds += instruction.getOpcode() == llvm::Instruction::Add ? 1 : 0;
  }
  return adds;
}

TEST_F(SinkRare, GivesARareBlockAnAddressOfItsOwn) {
  const llvm::Function& function = Run(kTable);
  EXPECT_EQ(AddsIn(function, "rare"), 1u);
  EXPECT_EQ(AddsIn(function, "entry"), 1u);
}

TEST_F(SinkRare, SharesASumThatTheCommonPathNeedsAsANumber) {
  std::string text = kTable;
  text.replace(text.find("icmp ult i64 %i"), 15, "icmp ult i64 %address");
  EXPECT_EQ(AddsIn(Run(text), "rare"), 0u);
}

}  // namespace
}  // namespace tutti::compiler
