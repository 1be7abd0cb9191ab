#include "compiler/widen/divergence/prepare.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/widen/divergence/early_ends.h"

namespace tutti::compiler {
namespace {

// Lanes leave the loop for the kernel's end at %checked and at %loop; behind it is a barrier.
constexpr const char* kLeavesForTheEnd = R"(
  declare void @tutti.barrier(i32, i32, i1)
  define void @tutti.kernel(ptr %p, i32 %n) {
  entry:
    br label %loop
  loop:
    %i = phi i32 [ 0, %entry ], [ %next, %more ]
    %v = load volatile i32, ptr %p
    %bad = icmp eq i32 %v, 0
    br i1 %bad, label %end, label %checked
  checked:
    %w = load volatile i32, ptr %p
    %worse = icmp eq i32 %w, 0
    br i1 %worse, label %end, label %more
  more:
    %next = add i32 %i, 1
    %again = icmp ult i32 %next, %n
    br i1 %again, label %loop, label %behind
  behind:
    call void @tutti.barrier(i32 0, i32 0, i1 true)
    store i32 %n, ptr %p
    br label %end
  end:
    ret void
  }
)";

// Else each of the ways would have a block of its own, in which lanes wait until the loop has ended.
TEST(Prepare, LanesLeaveALoopForTheReturnItself) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(kLeavesForTheEnd, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  const auto prepared = PrepareForWidening(*module, {});
  ASSERT_TRUE(prepared) << prepared.error().text;
  llvm::Function& kernel = *module->getFunction("tutti.kernel");
  EXPECT_FALSE(HasJumpsToEnds(kernel));
  MakeCanonical(kernel);
  EXPECT_FALSE(HasJumpsToEnds(kernel));
}

}  // namespace
}  // namespace tutti::compiler
