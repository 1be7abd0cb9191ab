#include "compiler/link/rare_paths.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace tutti::compiler {
namespace {

constexpr const char* kChecked = R"(
  define internal void @tutti_check(i64 %a) { ret void }
  define internal void @tutti_check_lanes(i64 %a) { ret void }
  define internal void @tutti_rare_store_i32(i32 %mask, <32 x i32> %values, ptr %to) {
    store i32 %mask, ptr %to
    store <32 x i32> %values, ptr %to
    ret void
  }
  define internal <32 x i32> @tutti_rare_load_i32(i32 %mask) { ret <32 x i32> zeroinitializer }
  define internal void @tutti_rare_store_i8(<4 x i8> %values) { ret void }
  define void @f(ptr %out) {
    call void @tutti_check(i64 1)
    store ptr @tutti_check_lanes, ptr %out
    call void @tutti_rare_store_i32(i32 -1, <32 x i32> zeroinitializer, ptr %out)
    %loaded = call <32 x i32> @tutti_rare_load_i32(i32 -1)
    call void @tutti_rare_store_i8(<4 x i8> zeroinitializer)
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
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

// A call of it may be anywhere on a hot path, and costs no register there. A jump to another function at its end would
// leave those that the other one changes.
TEST_F(RarePaths, KeepTheRegistersOfTheirCallers) {
  const llvm::Function& check = *module_->getFunction("tutti_check");
  EXPECT_TRUE(check.hasFnAttribute("no_caller_saved_registers"));
  EXPECT_EQ(check.getFnAttribute("disable-tail-calls").getValueAsString(), "true");
  EXPECT_TRUE(check.getFnAttribute("target-features").getValueAsString().ends_with("-vzeroupper"));
  const auto& call = llvm::cast<llvm::CallInst>(module_->getFunction("f")->getEntryBlock().front());
  EXPECT_TRUE(call.hasFnAttr("no_caller_saved_registers"));
}

// LLVM says of a register that it is preserved if an argument is in its lower half only.
TEST_F(RarePaths, TakeNumbersThatFillARegister) {
  const llvm::Function& store = *module_->getFunction("tutti_rare_store_i32");
  EXPECT_TRUE(store.hasFnAttribute("no_caller_saved_registers"));
  EXPECT_TRUE(store.getArg(0)->getType()->isIntegerTy(64));
  const auto& call = llvm::cast<llvm::CallInst>(**store.user_begin());
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue(), 0xffffffffu);
}

// Eight registers of 128 bits are returned in memory; callers with aligned or variable frames address them by the frame
// pointer, and kernels lost their stack where it was not preserved.
TEST_F(RarePaths, KeepSomeRegistersWhereOneIsNotFilled) {
  for (const char* name : {"tutti_rare_load_i32", "tutti_rare_store_i8"}) {
    const llvm::Function& function = *module_->getFunction(name);
    EXPECT_FALSE(function.hasFnAttribute("no_caller_saved_registers")) << name;
    EXPECT_EQ(function.getCallingConv(), llvm::CallingConv::Intel_OCL_BI) << name;
    EXPECT_EQ(function.getFnAttribute("frame-pointer").getValueAsString(), "all") << name;
    EXPECT_EQ(llvm::cast<llvm::CallInst>(**function.user_begin()).getCallingConv(), function.getCallingConv()) << name;
  }
}

TEST_F(RarePaths, AFunctionWhoseAddressIsTakenKeepsItsConvention) {
  EXPECT_FALSE(module_->getFunction("tutti_check_lanes")->hasFnAttribute("no_caller_saved_registers"));
}

}  // namespace
}  // namespace tutti::compiler
