#include "compiler/link/host_target.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace tutti::compiler {
namespace {

TEST(HostTarget, NamesItsFeaturesInOneOrder) {
  const auto a = HostTarget::With("x86-64-v3", {"fma", "avx2"}), b = HostTarget::With("x86-64-v3", {"avx2", "fma"});
  EXPECT_TRUE(a.features.starts_with("+avx2,+fma,-")) << a.features;
  EXPECT_EQ(a.CacheKey(), b.CacheKey());
  EXPECT_EQ(a.level, VectorLevel::kAvx2);
}

TEST(HostTarget, KernelsUseNoRegistersThatAPreemptedBlockWouldLose) {
  const auto target = HostTarget::With("x86-64-v4", {"avx2", "ccmp", "egpr", "ndd", "nf", "push2pop2", "zu"});
  for (const char* feature : {"ccmp", "cf", "egpr", "ndd", "nf", "ppx", "push2pop2", "zu"}) {
    EXPECT_EQ(target.features.find(std::string("+") + feature), std::string::npos) << feature;
    EXPECT_NE(target.features.find(std::string("-") + feature), std::string::npos) << feature;
  }
  EXPECT_TRUE(CreateTargetMachine(target, 2)) << "LLVM knows all of these names";
}

TEST(HostTarget, WhatTheProcessDecidesIsLeftOut) {
  const auto target = HostTarget::With("x86-64-v3", {"avx2", "ibt", "shstk", "uintr"});
  EXPECT_TRUE(target.features.starts_with("+avx2,-")) << target.features;
}

bool IsCopied(const char* processor, int calls) {
  std::string text = "define float @tutti_v_f(float %x) alwaysinline {\n  ret float %x\n}\ndefine void @g() {\n";
  for (int i = 0; i < calls; ++i) text += "  call float @tutti_v_f(float 0.0)\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(text + "  ret void\n}\n", error, context);
  const auto target = HostTarget::Named(processor);
  ApplyTarget(*module, target, **CreateTargetMachine(target, 2));
  return module->getFunction("tutti_v_f")->hasFnAttribute(llvm::Attribute::AlwaysInline);
}

TEST(HostTarget, FunctionsThatAreCalledOftenAreNotCopied) {
  EXPECT_TRUE(IsCopied("x86-64-v4", 32));
  EXPECT_FALSE(IsCopied("x86-64-v4", 33));
  EXPECT_TRUE(IsCopied("x86-64-v3", 8));
  EXPECT_FALSE(IsCopied("x86-64-v3", 9));
  EXPECT_FALSE(IsCopied("x86-64-v2", 1));
}

}  // namespace
}  // namespace tutti::compiler
