#include "compiler/link/first_lanes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace tutti::compiler {
namespace {

// <8 x i1> of these lanes, lane 0 last.
std::string Mask(unsigned lanes) {
  std::string text;
  for (unsigned i = 0; i < 8; ++i) text += fmt::format("{}i1 {}", i == 0 ? "" : ", ", lanes >> i & 1);
  return "<8 x i1> <" + text + ">";
}

std::string WithoutMasks(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(
      "declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)\n"
      "declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)\n"
      "declare void @tutti_rare_store_part_i32(i64, i32, <32 x i32>)\n"
      "define <8 x float> @f(ptr %p, i64 %a, <8 x float> %v, <8 x i1> %m, <32 x i32> %w) {\n" +
          body + "}",
      diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  llvm::FunctionAnalysisManager analyses;
  llvm::Function& function = *module->getFunction("f");
  FirstLanesPass().run(function, analyses);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream out(text);
  function.print(out);
  return text;
}

std::string Load(const std::string& mask, const std::string& others = "zeroinitializer") {
  return WithoutMasks("%r = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %p, i32 4, " + mask + ", <8 x float> " +
                      others + ")\n ret <8 x float> %r");
}
std::string Store(const std::string& mask) {
  return WithoutMasks("call void @llvm.masked.store.v8f32.p0(<8 x float> %v, ptr %p, i32 4, " + mask +
                      ")\n ret <8 x float> %v");
}
std::string StorePart(uint32_t lanes) {
  return WithoutMasks(
      fmt::format("call void @tutti_rare_store_part_i32(i64 %a, i32 {}, <32 x i32> %w)\n ret <8 x float> %v",
                  static_cast<int32_t>(lanes)));
}

TEST(FirstLanes, APowerOfTwoOfThemIsAPlainAccess) {
  EXPECT_TRUE(Load(Mask(0x0f)).contains("load <4 x float>, ptr %p, align 4"));
  EXPECT_TRUE(Load(Mask(0x03)).contains("load <2 x float>, ptr %p, align 4"));
  EXPECT_TRUE(Load(Mask(0x01)).contains("load float, ptr %p, align 4"));
  EXPECT_TRUE(Store(Mask(0x0f)).contains("store <4 x float>"));
  EXPECT_TRUE(Store(Mask(0x01)).contains("store float"));
  EXPECT_TRUE(StorePart(0xffff).contains("store <16 x i32>"));
  EXPECT_TRUE(StorePart(1).contains("store i32"));
}

TEST(FirstLanes, TheOthersKeepWhatTheyHad) {
  EXPECT_TRUE(Load(Mask(0x0f), "%v")
                  .contains("<8 x float> %v, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15>"));
  EXPECT_TRUE(Load(Mask(0x01), "%v").contains("insertelement <8 x float> %v"));
}

TEST(FirstLanes, AnythingElseStaysUnderItsMask) {
  for (const unsigned lanes : {0x00u, 0x02u, 0x06u, 0x07u, 0x17u, 0x8fu, 0xf0u, 0xffu}) {
    EXPECT_TRUE(Load(Mask(lanes)).contains("@llvm.masked.load")) << lanes;
    EXPECT_TRUE(Store(Mask(lanes)).contains("@llvm.masked.store")) << lanes;
  }
  EXPECT_TRUE(Load("<8 x i1> %m").contains("@llvm.masked.load"));
  for (const uint32_t lanes : {0u, 2u, 7u, 0x1ffffu, 0x8000000fu, ~0u}) {
    EXPECT_TRUE(StorePart(lanes).contains("@tutti_rare_store_part_i32")) << lanes;
  }
}

}  // namespace
}  // namespace tutti::compiler
