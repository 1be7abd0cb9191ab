#include "compiler/link/loaded_once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <string>
#include <vector>

namespace tutti::compiler {
namespace {

using ::testing::ElementsAre;

// The names of loads that are volatile, of a function of a guest address and of the runtime's own memory.
std::vector<std::string> VolatileOf(const std::string& body, const std::string& signature = "f(i64 %a, ptr %own)") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(
      "declare void @call(i32)\n"
      "declare i32 @sum(<4 x i32>) memory(none)\n"
      "declare { float, float } @products(<4 x float>) memory(none)\n"
      "declare <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i32>)\n"
      "define void @" +
          signature + " {\n  %p = inttoptr i64 %a to ptr\n  %q = getelementptr i8, ptr %p, i64 64\n" + body +
          "end:\n  ret void\n}\n!0 = !{}\n",
      diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << diagnostic.getLineContents().str();
  std::vector<std::string> names;
  if (!module) return names;
  LoadOnce(*module);
  for (const llvm::Instruction& instruction :
       llvm::instructions(*module->getFunction(signature.substr(0, signature.find('('))))) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && load->isVolatile()) names.push_back(load->getName().str());
  }
  return names;
}

// compiler/link/rounds.h
TEST(LoadOnce, WhatAStepIsGivenOfItsBlockMayBeAGuestAddress) {
  EXPECT_THAT(
      VolatileOf(R"(
  %of_step = load i32, ptr %state_of_warp
  %of_guest = load i32, ptr %given
  %more = add i32 %of_step, %of_guest
  call void @call(i32 %more)
  br label %end
)",
                 "tutti.step(ptr %state_of_warp, i32 %n, ptr %f, ptr %s, ptr %t, i32 %state, ptr %given, i64 %a)"),
      ElementsAre("of_guest"));
}

TEST(LoadOnce, IndicesAreAndDataAreNot) {
  EXPECT_THAT(VolatileOf(R"(
  %index = load i32, ptr %p
  %wide = zext i32 %index to i64
  %element = getelementptr i32, ptr %q, i64 %wide
  %data = load i32, ptr %element
  %more = add i32 %data, 1
  store i32 %more, ptr %q
  br label %end
)"),
              ElementsAre("index"));
}

TEST(LoadOnce, WhatBranchesAskIsAndNumbersInFloatingPointAreNot) {
  EXPECT_THAT(VolatileOf(R"(
  %few = load <4 x i32>, ptr %p
  %number = load float, ptr %q
  %first = extractelement <4 x i32> %few, i64 0
  %none = icmp eq i32 %first, 0
  %twice = fadd float %number, %number
  %is_less = fcmp olt float %twice, 1.0
  %ends = or i1 %none, %is_less
  br i1 %ends, label %end, label %next
next:
  br label %end
)"),
              ElementsAre("few"));
}

TEST(LoadOnce, NumbersInFloatingPointThatAreComparedOrConvertedAre) {
  EXPECT_THAT(VolatileOf(R"(
  %compared = load float, ptr %p
  %numbers = load <4 x float>, ptr %q
  %is_less = fcmp olt float %compared, 1.0
  %indices = call <4 x i32> @llvm.fptosi.sat.v4i32.v4f32(<4 x float> %numbers)
  %elements = getelementptr i32, ptr %q, <4 x i32> %indices
  %gathered = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %elements, i32 4, <4 x i1> splat (i1 true), <4 x i32> zeroinitializer)
  br i1 %is_less, label %end, label %next
next:
  br label %end
)"),
              ElementsAre("compared", "numbers"));
}

TEST(LoadOnce, WhatFunctionsComputeInFloatingPointIsNotButIntegersAre) {
  EXPECT_THAT(VolatileOf(R"(
  %integers = load <4 x i32>, ptr %p
  %numbers = load <4 x float>, ptr %q
  %sum = call i32 @sum(<4 x i32> %integers)
  %products = call { float, float } @products(<4 x float> %numbers)
  %product = extractvalue { float, float } %products, 1
  %is_less = fcmp olt float %product, 1.0
  %place = inttoptr i32 %sum to ptr
  store i32 1, ptr %place
  br i1 %is_less, label %end, label %next
next:
  br label %end
)"),
              ElementsAre("integers"));
}

TEST(LoadOnce, WhatIsKeptInOneOfTheCompilersVariablesIs) {
  EXPECT_THAT(VolatileOf(R"(
  %room = alloca [2 x i32]
  %other = getelementptr i8, ptr %room, i64 4
  %kept = load i32, ptr %p
  %where = icmp eq i64 %a, 0
  %chosen = select i1 %where, ptr %room, ptr %other
  store i32 %kept, ptr %chosen
  br label %end
)"),
              ElementsAre("kept"));
}

TEST(LoadOnce, PatternsOfFloatsMayBeIndices) {
  EXPECT_THAT(VolatileOf(R"(
  %floats = load <4 x float>, ptr %p
  %one = shufflevector <4 x float> %floats, <4 x float> poison, <4 x i32> zeroinitializer
  %indices = bitcast <4 x float> %one to <4 x i32>
  %elements = getelementptr i32, ptr %q, <4 x i32> %indices
  %gathered = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %elements, i32 4, <4 x i1> splat (i1 true), <4 x i32> zeroinitializer)
  store <4 x i32> %gathered, ptr %q
  br label %end
)"),
              ElementsAre("floats"));
}

TEST(LoadOnce, SumsWithACarryAreIndices) {
  EXPECT_THAT(VolatileOf(R"(
  %low = load i64, ptr %p
  %sum = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %low, i64 %a)
  %to = extractvalue { i64, i1 } %sum, 0
  %place = inttoptr i64 %to to ptr
  store i32 1, ptr %place
  br label %end
)"),
              ElementsAre("low"));
}

TEST(LoadOnce, ByWayOfCallsAndOwnMemoryToo) {
  EXPECT_THAT(VolatileOf(R"(
  %kept = load i32, ptr %p
  %passed = load i32, ptr %q
  store i32 %kept, ptr %own
  call void @call(i32 %passed)
  br label %end
)"),
              ElementsAre("kept", "passed"));
}

TEST(LoadOnce, OwnMemoryAndWhatNobodyChangesAreNot) {
  EXPECT_THAT(VolatileOf(R"(
  %room = alloca i64
  %mine = load i64, ptr %room
  %theirs = load i64, ptr %own
  %fixed = load i64, ptr %p, !invariant.load !0
  %some = add i64 %mine, %theirs
  %all = add i64 %some, %fixed
  %to = inttoptr i64 %all to ptr
  store i32 1, ptr %to
  br label %end
)"),
              ElementsAre());
}

}  // namespace
}  // namespace tutti::compiler
