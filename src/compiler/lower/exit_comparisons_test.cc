#include "compiler/lower/exit_comparisons.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/lower/llvm.h"
#include "compiler/passes/pass_managers.h"

namespace tutti::compiler::lowering {
namespace {

// A search: counts i from `start` by `step` to %n, unless %p breaks it off, and compares the i that it leaves with.
struct Search {
  std::string start = "0", step = "1", ends = "icmp eq i32 %next, %n", enters = "icmp ne i32 %n, 0";
  std::string comparison = "icmp eq i32 %found, %n";
  std::string broken_off = "%i";  // what it leaves with then
  std::string beside;  // the comparison
};

// What the comparison is: "none,broken off,end" for a search of nothing, one that broke off, and one that came to its
// end; "asked" if it is still one.
std::string Answers(const Search& search) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(
      "declare i1 @p(i32)\ndeclare void @use(i1)\ndefine void @f(i32 %n, i32 %m) {\nentry:\n  %enters = " +
          search.enters + "\n  br i1 %enters, label %loop, label %behind\nloop:\n  %i = phi i32 [ " + search.start +
          ", %entry ], [ %next, %on ]\n  %go = call i1 @p(i32 %i)\n  br i1 %go, label %on, label %behind\non:\n" +
          "  %next = add i32 %i, " + search.step + "\n  %ends = " + search.ends +
          "\n  br i1 %ends, label %behind, label %loop\nbehind:\n  %found = phi i32 [ 0, %entry ], [ " +
          search.broken_off + ", %loop ], [ %n, %on ]\n  %asked = " + search.comparison + "\n" + search.beside +
          "  br label %end\nend:\n  call void @use(i1 %asked)\n  ret void\n}\n",
      error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  if (module == nullptr) return "";
  PassManagers managers{llvm::Triple("x86_64-pc-linux-gnu")};
  llvm::Function& function = *module->getFunction("f");
  ExitComparisonsPass().run(function, managers.functions);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  const auto& call = llvm::cast<llvm::CallInst>(*function.back().getTerminator()->getPrevNode());
  const auto* answer = llvm::dyn_cast<llvm::PHINode>(call.getArgOperand(0));
  if (answer == nullptr) return "asked";
  std::string text;
  for (const char* from : {"entry", "loop", "on"}) {
    for (const llvm::BasicBlock& block : function) {
      if (block.getName() != from) continue;
      text += text.empty() ? "" : ",";
      text += llvm::cast<llvm::ConstantInt>(answer->getIncomingValueForBlock(&block))->isOne() ? "yes" : "no";
    }
  }
  return text;
}

TEST(ExitComparisons, AreAnsweredByTheWayOut) {
  EXPECT_EQ(Answers({}), "yes,no,yes");
  EXPECT_EQ(Answers({.comparison = "icmp ne i32 %found, %n"}), "no,yes,no");
  EXPECT_EQ(Answers({.comparison = "icmp ult i32 %found, %n"}), "no,yes,no");
  EXPECT_EQ(Answers({.comparison = "icmp eq i32 %n, %found"}), "yes,no,yes");
}

TEST(ExitComparisons, StayWhereAnAccessWouldBeMadeTwice) {
  EXPECT_EQ(Answers({.beside = "  store i32 %found, ptr null\n"}), "asked");
  EXPECT_EQ(Answers({.beside = "  %more = add i32 %found, 1\n"}), "yes,no,yes");
}

// The loop may count past %n, whatever it does in between.
TEST(ExitComparisons, StayWhereTheCountMayBeTheLimitBefore) {
  EXPECT_EQ(Answers({.ends = "icmp eq i32 %next, %m"}), "asked");
  EXPECT_EQ(Answers({.start = "1"}), "asked");  // of %n = 1 the first round is one more than there are
  EXPECT_EQ(Answers({.enters = "icmp ne i32 %m, 0"}), "asked");
  EXPECT_EQ(Answers({.broken_off = "%m"}), "asked");
}

// By steps of two an odd limit is passed by, and the count begins again: it is the limit in no round all the same.
TEST(ExitComparisons, KnowOnlyWhatEveryRoundHasInCommon) {
  EXPECT_EQ(Answers({.step = "2"}), "yes,no,yes");
  EXPECT_EQ(Answers({.step = "2", .comparison = "icmp ult i32 %found, %n"}), "asked");
  EXPECT_EQ(Answers({.step = "3", .ends = "icmp uge i32 %next, %n"}), "yes,no,yes");
}

}  // namespace
}  // namespace tutti::compiler::lowering
