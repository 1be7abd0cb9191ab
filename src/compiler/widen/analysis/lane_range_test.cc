#include "compiler/widen/analysis/lane_range.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace tutti::compiler {
namespace {

// Of %v in such a function.
llvm::ConstantRange RangeIn(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(
      "declare range(i32 0, 256) i32 @tutti.tid.x()\ndeclare i32 @other()\ndeclare i32 @llvm.umin.i32(i32, i32)\n"
      "define void @k(i32 %n, i1 %c, ptr %p) {\n  %t = call i32 @tutti.tid.x()\n" +
          body + "  ret void\n}\n",
      error, context);
  if (module == nullptr) throw std::runtime_error(error.getMessage().str());
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (instruction.getName() == "v") return RangeInAnyLane(&instruction);
  }
  throw std::runtime_error("there is no %v");
}

void Expect(const std::string& body, uint64_t least, uint64_t most) {
  const llvm::ConstantRange range = RangeIn(body);
  EXPECT_EQ(range.getUnsignedMin().getZExtValue(), least) << body;
  EXPECT_EQ(range.getUnsignedMax().getZExtValue(), most) << body;
}

constexpr uint64_t kAll = 0xffffffff;

TEST(LaneRange, FollowsWhatIsComputedFromThreadIndices) {
  Expect("  %v = mul i32 %t, 19\n", 0, 255 * 19);
  Expect("  %a = mul i32 %t, 19\n  %v = add i32 %a, 7\n", 7, 255 * 19 + 7);
  Expect("  %v = shl i32 %t, 4\n", 0, 255 * 16);
  Expect("  %v = lshr i32 %n, 28\n", 0, 15);
  Expect("  %v = and i32 %n, 1023\n", 0, 1023);
  Expect("  %a = and i32 %n, 7\n  %v = urem i32 %t, 10\n", 0, 9);
  Expect("  %v = select i1 %c, i32 %t, i32 1000\n", 0, 1000);
  Expect("  %v = call i32 @llvm.umin.i32(i32 %n, i32 %t)\n", 0, 255);
  Expect("  %v = zext i32 %n to i64\n", 0, kAll);
}

TEST(LaneRange, IsAllWhereAValueMayWrapWhateverFlagsSay) {
  Expect("  %v = sub i32 %t, 5\n", 0, kAll);
  Expect("  %v = sub nuw nsw i32 %t, 5\n", 0, kAll);
  Expect("  %v = mul nuw nsw i32 %t, 100000000\n", 0, kAll);
  Expect("  %v = shl nuw i32 %t, 25\n", 0, 0xfe000000);
  Expect("  %b = and i32 %n, 255\n  %v = or disjoint i32 %t, %b\n", 0, 510);
}

TEST(LaneRange, IsAllOfWhatNobodyKnows) {
  Expect("  %v = add i32 %n, 1\n", 0, kAll);
  Expect("  %v = call i32 @other()\n", 0, kAll);
  Expect("  %v = load i32, ptr %p, !range !{i32 0, i32 8}\n", 0, kAll);
}

}  // namespace
}  // namespace tutti::compiler
