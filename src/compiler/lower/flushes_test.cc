#include "compiler/lower/flushes.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {
namespace {

// How many flushes there are in a function float(float %x, float %y, i32 %i, half %h, i1 %c) with this body, in which
// %a and %b are flushed.
size_t FlushesIn(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(
      "declare float @tutti.fn.flush.f32(float)\ndeclare float @llvm.fma.f32(float, float, float)\n"
      "declare float @llvm.sqrt.f32(float)\ndeclare float @llvm.fabs.f32(float)\n"
      "declare float @tutti.fn.cos.f32(float)\n"
      "define float @f(float %x, float %y, i32 %i, half %h, i1 %c) {\nentry:\n"
      "  %a = call float @tutti.fn.flush.f32(float %x)\n  %b = call float @tutti.fn.flush.f32(float %y)\n" +
          body + "}\n",
      error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  if (module == nullptr) return 0;
  SettleFlushes(*module);
  size_t count = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f"))) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    EXPECT_FALSE(call != nullptr && call->getCalledFunction()->getName() == "tutti.fn.flush.f32");
    count += call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::copysign;
  }
  return count;
}

// A value, flushed and returned: whether that takes a flush.
bool NeedsFlush(const std::string& value) {
  return FlushesIn("  %v = " + value + "\n  %r = call float @tutti.fn.flush.f32(float %v)\n" +
                   "  %s = fadd float %a, %b\n  %t = fadd float %s, %r\n  ret float %t\n") > 2;
}

TEST(Flushes, AreForWhatMayBeSubnormal) {
  EXPECT_TRUE(NeedsFlush("fadd float %a, %b"));
  EXPECT_TRUE(NeedsFlush("fmul float %a, %b"));
  EXPECT_TRUE(NeedsFlush("fmul float %a, 0x3FEFFFFFE0000000"));
  EXPECT_TRUE(NeedsFlush("fdiv float 1.0, %a"));
  EXPECT_TRUE(NeedsFlush("call float @llvm.fabs.f32(float %x)"));
  EXPECT_TRUE(NeedsFlush("call float @llvm.fma.f32(float %a, float %b, float 0x3AF0000000000000)"));
  EXPECT_TRUE(NeedsFlush("select i1 %c, float %a, float %x"));
}

TEST(Flushes, AreNotForWhatCannot) {
  EXPECT_FALSE(NeedsFlush("select i1 %c, float %a, float %b"));
  EXPECT_FALSE(NeedsFlush("fneg float %a"));
  EXPECT_FALSE(NeedsFlush("call float @llvm.sqrt.f32(float %x)"));
  EXPECT_FALSE(NeedsFlush("call float @tutti.fn.cos.f32(float %x)"));
  EXPECT_FALSE(NeedsFlush("sitofp i32 %i to float"));
  EXPECT_FALSE(NeedsFlush("fpext half %h to float"));
  EXPECT_FALSE(NeedsFlush("fmul float %a, 3.0"));
  EXPECT_FALSE(NeedsFlush("fadd float %x, 1.0"));
  EXPECT_FALSE(NeedsFlush("call float @llvm.fma.f32(float %x, float %y, float 1.0)"));
}

std::string Loop(const std::string& next) {
  return "  br label %again\nagain:\n  %p = phi float [ 0.0, %entry ], [ %q, %again ]\n"
         "  %f = call float @tutti.fn.flush.f32(float %p)\n  %s = fadd float %f, %a\n"
         "  %q = " +
         next + "\n  br i1 %c, label %again, label %end\nend:\n  %t = fadd float %q, %b\n  ret float %t\n";
}

TEST(Flushes, OfWhatALoopCarriesAreNeededUnlessAllThatComesInIsFlushed) {
  EXPECT_EQ(FlushesIn(Loop("call float @tutti.fn.flush.f32(float %s)")), 3u);
  EXPECT_EQ(FlushesIn(Loop("fadd float %s, 0.0")), 3u);  // what comes in is not: it is flushed where it is read
  EXPECT_EQ(FlushesIn(Loop("select i1 %c, float %f, float %a")), 2u);
}

TEST(Flushes, AreNotNeededForComparisonsWithNormalNumbers) {
  EXPECT_EQ(FlushesIn("  %p = fcmp olt float %a, 1.0\n  %s = select i1 %p, float %b, float 0.0\n  ret float %s\n"), 1u);
  EXPECT_EQ(FlushesIn("  %p = fcmp olt float %a, 0.0\n  %s = select i1 %p, float %b, float 0.0\n  ret float %s\n"), 2u);
}

}  // namespace
}  // namespace tutti::compiler::lowering
