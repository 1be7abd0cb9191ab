#include "compiler/link/wide_joins.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <string>

namespace tutti::compiler {
namespace {

using std::to_string;

constexpr int kStep = 10;

// A chain of `ways` conditional jumps to one join with `phis` phis; behind every tenth one of the values is another.
std::string Join(int ways, int phis) {
  std::string body, join = "join:\n";
  for (int i = 0; i < ways; ++i) {
    const std::string n = to_string(i);
    body += (i == 0 ? "entry" : "way" + n) + ":\n  %v" + n + " = load volatile i64, ptr %p\n  %c" + n +
            " = icmp eq i64 %v" + n + ", 0\n  br i1 %c" + n + ", label %join, label %" +
            (i + 1 < ways ? "way" + to_string(i + 1) : "end") + "\n";
  }
  for (int k = 0; k < phis; ++k) {
    join += "  %x" + to_string(k) + " = phi i64 ";
    for (int i = 0; i < ways; ++i) {
      join += std::string(i == 0 ? "" : ", ") + "[ " + (i >= kStep * k ? "%v" + to_string(kStep * k) : "0") + ", %" +
              (i == 0 ? "entry" : "way" + to_string(i)) + " ]";
    }
    join += "\n";
  }
  for (int k = 0; k < phis; ++k) join += "  store volatile i64 %x" + to_string(k) + ", ptr %p\n";
  return "define void @f(ptr %p) {\n" + body + join + "  ret void\nend:\n  ret void\n}\n";
}

struct Size {
  size_t ways = 0;  // into the join
  size_t copies = 0;  // values that come to a phi
};

Size SizeOf(const llvm::Function& function) {
  Size size;
  for (const llvm::BasicBlock& block : function) {
    if (block.getName() == "join") size.ways = llvm::pred_size(&block);
    for (const llvm::PHINode& phi : block.phis()) size.copies += phi.getNumIncomingValues();
  }
  return size;
}

Size AfterSplitting(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  SplitWideJoinsPass().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  return SizeOf(function);
}

TEST(WideJoins, NeighboursMeetFirst) {
  const Size size = AfterSplitting(Join(400, 40));
  EXPECT_EQ(size.ways, 20U);
  EXPECT_LT(size.copies, 400 * 40 / 6);
}

TEST(WideJoins, NarrowOnesStayAsTheyAre) {
  EXPECT_EQ(AfterSplitting(Join(20, 40)).ways, 20U);
  EXPECT_EQ(AfterSplitting(Join(400, 2)).ways, 400U);
}

}  // namespace
}  // namespace tutti::compiler
