#include "compiler/link/constants_last.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace tutti::compiler {
namespace {

// What the function returns, as its expression.
std::string Expression(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (const auto* add = llvm::dyn_cast<llvm::Instruction>(&value)) {
    out << "(" << Expression(*add->getOperand(0)) << (add->getOpcode() == llvm::Instruction::Add ? " + " : " | ")
        << Expression(*add->getOperand(1)) << ")";
  } else {
    value.printAsOperand(out, /*PrintType=*/false);
  }
  return text;
}

std::string Rewritten(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module =
      llvm::parseAssemblyString("define i64 @f(i64 %w, i64 %x) {" + body + " ret i64 %r }", diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  llvm::FunctionAnalysisManager analyses;
  llvm::Function& function = *module->getFunction("f");
  ConstantsLastPass().run(function, analyses);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  return Expression(*llvm::cast<llvm::ReturnInst>(function.front().getTerminator())->getReturnValue());
}

TEST(ConstantsLast, SumsHaveTheirConstantsOutside) {
  EXPECT_EQ(Rewritten("%a = or disjoint i64 %x, 4 %r = add i64 %a, %w"), "((%x + %w) + 4)");
  EXPECT_EQ(Rewritten("%a = add nuw i64 %x, 4 %b = or disjoint i64 %w, 3 %r = add i64 %b, %a"), "((%w + %x) + 7)");
  EXPECT_EQ(Rewritten("%a = add i64 %x, 4 %b = add i64 %a, %w %r = add i64 %b, %x"), "(((%x + %w) + %x) + 4)");
}

TEST(ConstantsLast, AnOrThatIsNoSumStays) {
  EXPECT_EQ(Rewritten("%a = or i64 %x, 4 %r = add i64 %a, %w"), "((%x | 4) + %w)");
}

}  // namespace
}  // namespace tutti::compiler
