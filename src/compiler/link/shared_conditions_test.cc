#include "compiler/link/shared_conditions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <map>

namespace tutti::compiler {
namespace {

// `branches` in a row on one answer.
std::string Branches(int branches) {
  std::string text =
      "declare void @rare(i32)\ndefine void @f(i64 %a, i64 %b) {\n  %ok = icmp ult i64 %a, %b\n"
      "  br label %b0\n";
  for (int i = 0; i < branches; ++i)
    text += fmt::format(
        "b{0}:\n  br i1 %ok, label %b{1}, label %r{0}\nr{0}:\n  call void @rare(i32 {0})\n"
        "  br label %b{1}\n",
        i, i + 1);
  return text + fmt::format("b{}:\n  ret void\n}}\n", branches);
}

class SharedConditions : public testing::Test {
 protected:
  llvm::Function& Parse(const std::string& text) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str();
    return *module_->getFunction("f");
  }
  static std::string Text(const llvm::Function& function) {
    std::string text;
    llvm::raw_string_ostream(text) << function;
    return text;
  }
  // How many branches each condition has.
  static std::map<const llvm::Value*, int> Conditions(llvm::Function& function) {
    std::map<const llvm::Value*, int> users;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
      if (branch != nullptr && branch->isConditional()) ++users[branch->getCondition()];
    }
    return users;
  }
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::FunctionAnalysisManager analyses_;
};

TEST_F(SharedConditions, NoValueHasManyBranches) {
  llvm::Function& function = Parse(Branches(100));
  SplitConditionsPass().run(function, analyses_);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  int branches = 0;
  for (const auto& [condition, users] : Conditions(function)) {
    EXPECT_LE(users, 16);
    branches += users;
  }
  EXPECT_EQ(branches, 100);
}

TEST_F(SharedConditions, AreOneAgainAfterwards) {
  llvm::Function& function = Parse(Branches(100));
  const std::string before = Text(function);
  SplitConditionsPass().run(function, analyses_);
  EXPECT_NE(Text(function), before);
  JoinConditionsPass().run(function, analyses_);
  EXPECT_EQ(Text(function), before);
}

TEST_F(SharedConditions, OfFewBranchesStay) {
  llvm::Function& function = Parse(Branches(16));
  SplitConditionsPass().run(function, analyses_);
  EXPECT_EQ(Conditions(function).size(), 1u);
}

}  // namespace
}  // namespace tutti::compiler
