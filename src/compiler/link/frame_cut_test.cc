#include "compiler/link/frame_cut.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace tutti::compiler {
namespace {

TEST(FrameCut, AddressesAtDistancesFromOneKeepThatOne) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(R"(
    declare void @barrier()
    define i32 @f(ptr %from) {
      %base = load i64, ptr %from
      %a = add i64 %base, 4
      %b = add i64 %base, 8
      %c = add i64 %base, 12
      %p = inttoptr i64 %a to ptr
      %q = inttoptr i64 %b to ptr
      %r = inttoptr i64 %c to ptr
      call void @barrier()
      store i32 1, ptr %p
      store i32 2, ptr %q
      store i32 3, ptr %r
      ret i32 0
    })",
                                                diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::SmallVector<llvm::CallInst*, 1> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(call);
  }
  // All of it is shared, so that its place and nothing else is listed.
  const FrameCut cut(function, calls, [](const llvm::Instruction&) { return true; });
  const auto places = cut.shared_places();
  ASSERT_EQ(places.size(), 1);
  EXPECT_TRUE(places[0].second->isIntegerTy(64));
}

TEST(FrameCut, KeepsNoVariableForItsAddress) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(R"(
    declare void @barrier()
    define i64 @f() {
      %variable = alloca i32
      %address = ptrtoint ptr %variable to i64
      call void @barrier()
      ret i64 %address
    })",
                                                diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::SmallVector<llvm::CallInst*, 1> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(call);
  }
  const FrameCut cut(function, calls, [](const llvm::Instruction&) { return true; });
  const auto places = cut.shared_places();
  ASSERT_EQ(places.size(), 1);
  EXPECT_TRUE(places[0].second->isIntegerTy(64));
}

}  // namespace
}  // namespace tutti::compiler
