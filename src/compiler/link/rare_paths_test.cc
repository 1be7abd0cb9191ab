#include "compiler/link/rare_paths.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace tutti::compiler {
namespace {

constexpr const char* kChecked = R"(
  define internal void @tutti_check(i64 %a) { ret void }
  define internal void @tutti_check_lanes(i64 %a) { ret void }
  define void @f(ptr %out) {
    call void @tutti_check(i64 1)
    store ptr @tutti_check_lanes, ptr %out
    ret void
  }
)";

// Callers with aligned or variable frames find their way by the frame pointer: a kernel's stack was lost where a check of
// an address did not give it back.
TEST(RarePaths, KeepTheVectorsAndTheFramePointerOfTheirCallers) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(kChecked, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  KeepRarePathsApart(*module);
  const llvm::Function& check = *module->getFunction("tutti_check");
  EXPECT_EQ(check.getCallingConv(), llvm::CallingConv::Intel_OCL_BI);
  EXPECT_EQ(check.getFnAttribute("frame-pointer").getValueAsString(), "all");
  const auto& call = llvm::cast<llvm::CallInst>(module->getFunction("f")->getEntryBlock().front());
  EXPECT_EQ(call.getCallingConv(), check.getCallingConv());
}

TEST(RarePaths, AFunctionWhoseAddressIsTakenKeepsItsConvention) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(kChecked, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  KeepRarePathsApart(*module);
  EXPECT_EQ(module->getFunction("tutti_check_lanes")->getCallingConv(), llvm::CallingConv::C);
}

}  // namespace
}  // namespace tutti::compiler
