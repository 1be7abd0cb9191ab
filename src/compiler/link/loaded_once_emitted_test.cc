// What becomes of loads that decide: whatever the processor's vectors, the code loads each byte once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <vector>

#include "compiler/link/host_target.h"
#include "compiler/link/object_emitter.h"

namespace tutti::compiler {
namespace {

using ::testing::ElementsAre;

// How often the code loads by the first argument, with vectors of 512, 256 and 128 bits.
std::vector<size_t> LoadsOf(const std::string& body) {
  const std::string ir =
      "declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)\n"
      "declare i1 @llvm.vector.reduce.and.v16i1(<16 x i1>)\n"
      "define i32 @f(i64 %a, ptr %table, <16 x i32> %ends, i16 %mask) {\n  %p = inttoptr i64 %a to ptr\n" +
      body + "}\n";
  std::vector<size_t> loads;
  for (const char* cpu : {"x86-64-v4", "x86-64-v3", "x86-64"}) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic diagnostic;
    const auto module = llvm::parseAssemblyString(ir, diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str() << diagnostic.getLineContents().str();
    const HostTarget target = HostTarget::Named(cpu);
    const auto machine = CreateTargetMachine(target, 2);
    if (!module || !machine) break;
    ApplyTarget(*module, target, **machine);
    const auto assembly = EmitAssembly(*module, **machine);
    EXPECT_TRUE(assembly);
    if (!assembly) break;
    size_t count = 0;
    for (size_t at = 0; (at = assembly->find("(%rdi", at)) != std::string::npos; ++at) ++count;
    loads.push_back(count);
  }
  return loads;
}

// All indices are asked about, and then one of them is used.
const std::string kUse = R"(
  %are_less = icmp ult <16 x i32> %indices, %ends
  %all = call i1 @llvm.vector.reduce.and.v16i1(<16 x i1> %are_less)
  %index = extractelement <16 x i32> %indices, i64 3
  %wide = zext i32 %index to i64
  %element = getelementptr i32, ptr %table, i64 %wide
  br i1 %all, label %go, label %end
go:
  %data = load i32, ptr %element
  ret i32 %data
end:
  ret i32 0
)";

TEST(LoadedOnce, AVectorThatIsComparedAndOneElementOfItUsed) {
  EXPECT_THAT(LoadsOf("  %indices = load <16 x i32>, ptr %p, align 1\n" + kUse), ElementsAre(1, 2, 4));
}

// As if of each lane but the sixth.
TEST(LoadedOnce, WhatAConstantMaskSelects) {
  EXPECT_THAT(
      LoadsOf("  %indices = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %p, i32 1, <16 x i1> "
              "<i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1>, "
              "<16 x i32> zeroinitializer)\n" +
              kUse),
      ElementsAre(1, 2, 4));
}

// In halves the mask of the first eight lanes is a constant. Without instructions for masks each lane is loaded alone.
TEST(LoadedOnce, WhatAMaskSelectsThatIsConstantInAPart) {
  EXPECT_THAT(LoadsOf("  %bits = or i16 %mask, 255\n  %lanes = bitcast i16 %bits to <16 x i1>\n"
                      "  %indices = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %p, i32 1, <16 x i1> %lanes, "
                      "<16 x i32> zeroinitializer)\n" +
                      kUse),
              ElementsAre(1, 2, 16));
}

// No arithmetic at all, for the code generator.
TEST(LoadedOnce, NumbersTimesOneThatAreComparedAndOneOfThemUsed) {
  EXPECT_THAT(LoadsOf(R"(
  %numbers = load <16 x float>, ptr %p, align 1
  %same = fmul <16 x float> %numbers, splat(float 1.0)
  %limits = sitofp <16 x i32> %ends to <16 x float>
  %are_less = fcmp olt <16 x float> %same, %limits
  %all = call i1 @llvm.vector.reduce.and.v16i1(<16 x i1> %are_less)
  %number = extractelement <16 x float> %same, i64 3
  %index = fptosi float %number to i64
  %element = getelementptr i32, ptr %table, i64 %index
  br i1 %all, label %go, label %end
go:
  %data = load i32, ptr %element
  ret i32 %data
end:
  ret i32 0
)"),
              ElementsAre(1, 2, 4));
}

TEST(LoadedOnce, NumbersInFloatingPointOfWhichOneIsCompared) {
  EXPECT_THAT(LoadsOf(R"(
  %numbers = load <8 x float>, ptr %p, align 1
  %wide = fpext <8 x float> %numbers to <8 x double>
  %to = ptrtoint ptr %table to i64
  %q = inttoptr i64 %to to ptr
  store <8 x double> %wide, ptr %q, align 1
  %number = extractelement <8 x float> %numbers, i64 3
  %is_less = fcmp olt float %number, 64.0
  br i1 %is_less, label %go, label %end
go:
  ret i32 1
end:
  ret i32 0
)"),
              ElementsAre(1, 1, 2));
}

}  // namespace
}  // namespace tutti::compiler
