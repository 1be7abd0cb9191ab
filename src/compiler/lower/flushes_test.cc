#include "compiler/lower/flushes.h"

#include <fmt/format.h>
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

// A value, flushed and returned: whether that takes a flush. `before` is what it is made of.
bool NeedsFlush(const std::string& value, const std::string& before = "") {
  return FlushesIn(before + "  %v = " + value + "\n  %r = call float @tutti.fn.flush.f32(float %v)\n" +
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
  EXPECT_TRUE(NeedsFlush("fpext bfloat %k to float", "  %k = bitcast half %h to bfloat\n"));
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

std::string PowerOfTwo(int exponent) { return fmt::format("{:#x}", static_cast<uint64_t>(1023 + exponent) << 52); }

// Of each pair the first result can be 2^-127, the second nothing below 2^-126.
TEST(Flushes, AreNeededFromTheVeryExponentOn) {
  const auto scaled = [](int exponent) {
    return "  %p = fmul float %a, " + PowerOfTwo(exponent) + "\n  %q = fmul float %b, " + PowerOfTwo(exponent) + "\n";
  };
  EXPECT_TRUE(NeedsFlush("fmul float %a, " + PowerOfTwo(-1)));
  EXPECT_FALSE(NeedsFlush("fmul float %a, " + PowerOfTwo(0)));
  EXPECT_TRUE(NeedsFlush("fsub float %p, %q", scaled(22)));  // neighbours that are 2^-127 apart
  EXPECT_FALSE(NeedsFlush("fsub float %p, %q", scaled(23)));
  EXPECT_TRUE(NeedsFlush("fadd float %x, " + PowerOfTwo(-103)));
  EXPECT_FALSE(NeedsFlush("fadd float %x, " + PowerOfTwo(-102)));
  const auto factors = [](int exponent) {  // with the summand near their product
    return "  %w = sitofp i32 %i to float\n  %p = fmul float %w, " + PowerOfTwo(-40) + "\n  %q = fmul float %w, " +
           PowerOfTwo(exponent) + "\n  %n = fmul float %a, " + PowerOfTwo(45) + "\n";
  };
  EXPECT_TRUE(NeedsFlush("call float @llvm.fma.f32(float %p, float %q, float %n)", factors(-41)));
  EXPECT_FALSE(NeedsFlush("call float @llvm.fma.f32(float %p, float %q, float %n)", factors(-40)));
  EXPECT_TRUE(NeedsFlush("fdiv float " + PowerOfTwo(1) + ", %x"));
  EXPECT_FALSE(NeedsFlush("fdiv float " + PowerOfTwo(2) + ", %x"));
  const std::string root = "  %w = call float @llvm.sqrt.f32(float %x)\n";
  EXPECT_TRUE(NeedsFlush("fdiv float " + PowerOfTwo(-63) + ", %w", root));
  EXPECT_FALSE(NeedsFlush("fdiv float " + PowerOfTwo(-62) + ", %w", root));
  EXPECT_TRUE(NeedsFlush("fmul float %w, " + PowerOfTwo(-52), root));  // the root of 2^-149 is less than 2^-74
  EXPECT_FALSE(NeedsFlush("fmul float %w, " + PowerOfTwo(-51), root));
}

TEST(Flushes, OfAChoiceAreNeededUnlessBothAreFlushed) {
  EXPECT_TRUE(NeedsFlush("select i1 %c, float %x, float %a"));
  // Of two zeros the bits that either has.
  const auto least = [](const std::string& first, const std::string& second) {
    return "  %e = fcmp oeq float " + first + ", " + second + "\n  %j = bitcast float " + first +
           " to i32\n  %k = bitcast float " + second +
           " to i32\n  %l = or i32 %j, %k\n  %z = bitcast i32 %l to float\n";
  };
  EXPECT_TRUE(NeedsFlush("select i1 %e, float %z, float %a", least("%x", "%a")));
  EXPECT_TRUE(NeedsFlush("select i1 %e, float %z, float %x", least("%a", "%b")));
  EXPECT_TRUE(NeedsFlush("select i1 %c, float %z, float %a", least("%a", "%b")));
  EXPECT_FALSE(NeedsFlush("select i1 %e, float %z, float %a", least("%a", "%b")));
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
