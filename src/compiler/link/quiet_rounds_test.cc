#include "compiler/link/quiet_rounds.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/passes/pass_managers.h"

namespace tutti::compiler {
namespace {

// A search as widening writes it: of %n rounds, in lanes %m, whose loads at %p + %j are compared with %limit.
constexpr const char* kSearch = R"(
  declare void @rare(i64, i32)
  declare void @found()
  declare void @nobody(i32)
  define void @f(ptr %warp, i64 %p, i64 %limit, i64 %n, i64 %amount) {
  entry:
    %mark = load i64, ptr %warp
    %start = shl i64 %mark, %amount
    br label %loop
  loop:
    %j = phi i64 [ 0, %entry ], [ %next, %on ]
    %m = phi <32 x i1> [ splat (i1 true), %entry ], [ %stay, %on ]
    %at = add nuw i64 %p, %j
    %place = add nsw i64 %at, %start
    %fits = icmp ult i64 %place, %limit
    br i1 %fits, label %fast, label %cold, !prof !0
  cold:
    %bits = bitcast <32 x i1> %m to i32
    call void @rare(i64 %place, i32 %bits)
    br label %fast
  fast:
    %pointer = inttoptr i64 %place to ptr
    %v = load <32 x i8>, ptr %pointer, align 1, !tutti.anyone !1
    %same = icmp eq <32 x i8> %v, splat (i8 7)
    %stay = select <32 x i1> %m, <32 x i1> %same, <32 x i1> zeroinitializer
    %left = bitcast <32 x i1> %stay to i32
    %any = icmp ne i32 %left, 0
    br i1 %any, label %on, label %done, !tutti.left !1
  on:
    %next = add i64 %j, 1
    %end = icmp eq i64 %next, %n
    br i1 %end, label %hit, label %loop
  hit:
    call void @found()
    br label %behind
  done:
    br label %behind
  behind:
    %last = phi i32 [ %left, %done ], [ 1, %hit ]
    call void @nobody(i32 %last)
    ret void
  }
  !0 = !{!"branch_weights", i32 1048575, i32 1}
  !1 = !{}
)";

class QuietRounds : public testing::Test {
 protected:
  // After the first of `changes` was replaced by the second.
  llvm::Function& Run(std::initializer_list<std::pair<std::string, std::string>> changes = {}) {
    std::string text = kSearch;
    for (const auto& [from, to] : changes) {
      const size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      if (at != std::string::npos) text.replace(at, from.size(), to);
    }
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str();
    PassManagers managers{llvm::Triple("x86_64-pc-linux-gnu")};
    llvm::Function& function = *module_->getFunction("f");
    QuietRoundsPass().run(function, managers.functions);
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    return function;
  }
  template <typename T>
  static size_t Count(llvm::Function& function) {
    return static_cast<size_t>(
        llvm::count_if(llvm::instructions(function), [](const llvm::Instruction& i) { return llvm::isa<T>(i); }));
  }
  static size_t Loads(llvm::Function& function) {
    return static_cast<size_t>(llvm::count_if(llvm::instructions(function), [](const llvm::Instruction& i) {
      return llvm::isa<llvm::LoadInst>(i) && i.getType()->isVectorTy();
    }));
  }
  static std::vector<llvm::CallInst*> Calls(llvm::Function& function, llvm::StringRef name) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->getCalledFunction()->getName() == name) calls.push_back(call);
    }
    return calls;
  }
  // The block is reached over a branch on a comparison of what lanes are left.
  static bool IsAsked(const llvm::BasicBlock* block) {
    const llvm::BasicBlock* before = block->getSinglePredecessor();
    const auto* branch = before != nullptr ? llvm::dyn_cast<llvm::BranchInst>(before->getTerminator()) : nullptr;
    if (branch == nullptr || !branch->isConditional() || branch->getSuccessor(0) != block) return false;
    const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    return compared != nullptr && llvm::isa<llvm::BitCastInst>(compared->getOperand(0));
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(QuietRounds, AreFourOfOneQuestion) {
  llvm::Function& function = Run();
  EXPECT_EQ(Loads(function), 4u);
  EXPECT_EQ(llvm::count_if(llvm::instructions(function),
                           [](const llvm::Instruction& i) { return i.hasMetadata("tutti.left"); }),
            1);
}

TEST_F(QuietRounds, AskBeforeAnythingThatHasAnEffect) {
  llvm::Function& function = Run();
  const auto rare = Calls(function, "rare");
  EXPECT_EQ(rare.size(), 4u);
  EXPECT_EQ(llvm::count_if(rare, [](llvm::CallInst* call) { return IsAsked(call->getParent()); }), 3);
  // Three ways to the end are asked, and the last one's comes right behind the question.
  const llvm::BasicBlock* found = Calls(function, "found")[0]->getParent();
  const auto is_asked = [](const llvm::BasicBlock* before) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
    return branch->isConditional() &&
           llvm::isa<llvm::BitCastInst>(llvm::cast<llvm::ICmpInst>(branch->getCondition())->getOperand(0));
  };
  EXPECT_EQ(llvm::pred_size(found), 4u);
  EXPECT_EQ(llvm::count_if(llvm::predecessors(found), is_asked), 3);
}

TEST_F(QuietRounds, MakeNoPoison) {
  llvm::Function& function = Run();
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    EXPECT_FALSE(instruction.hasPoisonGeneratingFlags());
  ASSERT_EQ(Count<llvm::FreezeInst>(function), 1u);  // of a shift by more than there are bits
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.getOpcode() != llvm::Instruction::Shl) continue;
    EXPECT_TRUE(instruction.hasOneUse() && llvm::isa<llvm::FreezeInst>(*instruction.user_begin()));
  }
}

TEST_F(QuietRounds, AreNoneWhereARoundMayHaveAnEffect) {
  EXPECT_EQ(Loads(Run({{", !tutti.anyone !1", ""}})), 1u);
  EXPECT_EQ(Loads(Run({{"load <32 x i8>", "load volatile <32 x i8>"}})), 1u);
  EXPECT_EQ(Loads(Run({{"%next = add", "store i64 %j, ptr %warp\n    %next = add"}})), 1u);
  EXPECT_EQ(Loads(Run({{"%next = add", "call void @found()\n    %next = add"}})), 1u);
  EXPECT_EQ(Loads(Run({{"%next = add i64 %j, 1", "%next = udiv i64 %j, %n"}})), 1u);
  // Only lanes have a divisor that is not zero.
  EXPECT_EQ(Loads(Run({{"%next = add i64 %j, 1", "%d = add nuw i64 %j, 1\n    %next = udiv i64 %n, %d"}})), 1u);
  EXPECT_EQ(Loads(Run({{"%next = add i64 %j, 1", "%next = udiv i64 %j, 3"}})), 4u);
}

TEST_F(QuietRounds, AreNoneWhereARoundMayMakePoison) {
  EXPECT_EQ(Loads(Run({{"%next = add i64 %j, 1", "%next = shl i64 %j, %n"}})), 1u);
  EXPECT_EQ(Loads(Run({{"%next = add i64 %j, 1", "%next = call i64 @llvm.cttz.i64(i64 %j, i1 true)"},
                       {"declare void @found()", "declare void @found()\n  declare i64 @llvm.cttz.i64(i64, i1)"}})),
            1u);
}

TEST_F(QuietRounds, AreNoneOfOtherLoops) {
  EXPECT_EQ(Loads(Run({{", !tutti.left !1", ""}})), 1u);
  std::string long_round;
  for (int i = 0; i < 64; ++i)
    long_round += "%x" + std::to_string(i) + " = add i64 %j, " + std::to_string(i) + "\n    ";
  EXPECT_EQ(Loads(Run({{"%next = add", long_round + "%next = add"}})), 1u);
}

}  // namespace
}  // namespace tutti::compiler
