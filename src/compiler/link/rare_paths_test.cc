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

class RarePaths : public testing::Test {
 protected:
  void SetUp() override {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(kChecked, diagnostic, context_);
    ASSERT_TRUE(module_) << diagnostic.getMessage().str();
    KeepRarePathsApart(*module_);
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

// Callers with aligned or variable frames address them by the frame pointer: kernels lost their stack where an address
// check did not preserve it.
TEST_F(RarePaths, KeepTheVectorsAndTheFramePointerOfTheirCallers) {
  const llvm::Function& check = *module_->getFunction("tutti_check");
  EXPECT_EQ(check.getCallingConv(), llvm::CallingConv::Intel_OCL_BI);
  EXPECT_EQ(check.getFnAttribute("frame-pointer").getValueAsString(), "all");
  EXPECT_TRUE(check.getFnAttribute("target-features").getValueAsString().ends_with("-vzeroupper"));
  const auto& call = llvm::cast<llvm::CallInst>(module_->getFunction("f")->getEntryBlock().front());
  EXPECT_EQ(call.getCallingConv(), check.getCallingConv());
}

TEST_F(RarePaths, AFunctionWhoseAddressIsTakenKeepsItsConvention) {
  EXPECT_EQ(module_->getFunction("tutti_check_lanes")->getCallingConv(), llvm::CallingConv::C);
}

}  // namespace
}  // namespace tutti::compiler
