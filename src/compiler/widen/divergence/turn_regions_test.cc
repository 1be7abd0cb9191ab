// Where turns begin and end. That kernels are right with such turns is for tests/run and the fuzzer of semantics.
#include "compiler/widen/divergence/turn_regions.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace tutti::compiler {
namespace {

// Each region as the headers of its loops and the block of its end: "wait>all".
std::string RegionsOf(const std::string& body, const BlockShape& shape = BlockShape({96, 1, 1})) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(
      "declare void @tutti.barrier(i32, i32, i1)\ndeclare i32 @tutti.barrier.red.or(i32, i32, i1)\n"
      "declare void @tutti.yield()\ndeclare void @tutti.warp_barrier(i32)\n"
      "define void @tutti.kernel(ptr %word, i1 %p, i1 %q, i32 %n) {\n" +
          body + "}\n",
      diagnostic, context);
  if (module == nullptr) return diagnostic.getMessage().str();
  std::string text;
  for (const TurnRegion& region : FindTurnRegions(*module->getFunction("tutti.kernel"), shape)) {
    text += text.empty() ? "" : " ";
    for (const llvm::BasicBlock* header : region.waiting) text += header->getName().str() + ">";
    text += region.end != nullptr ? region.end->getParent()->getName().str() : "";
  }
  return text;
}

// A loop that waits, at `name`, and goes to `next`.
std::string Wait(const std::string& name, const std::string& next) {
  return name + ":\n  %" + name + ".seen = load volatile i32, ptr %word\n  %" + name + ".again = icmp eq i32 %" + name +
         ".seen, 0\n  br i1 %" + name + ".again, label %" + name + ".back, label %" + next + "\n" + name +
         ".back:\n  call void @tutti.yield()\n  br label %" + name + "\n";
}

TEST(TurnRegions, EndAtTheBarrierThatAllThreadsPass) {
  EXPECT_EQ(RegionsOf("  br i1 %p, label %wait, label %all\n" + Wait("wait", "all") + R"(
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  store i32 1, ptr %word
  ret void
)"),
            "wait>all");
}

TEST(TurnRegions, EndAtAReductionOfAllThreads) {
  EXPECT_EQ(RegionsOf("  br label %wait\n" + Wait("wait", "all") + R"(
all:
  %any = call i32 @tutti.barrier.red.or(i32 3, i32 0, i1 %p)
  store i32 %any, ptr %word
  ret void
)"),
            "wait>all");
}

TEST(TurnRegions, DoNotEndWhereOnlySomeThreadsWait) {
  EXPECT_EQ(RegionsOf("  br label %wait\n" + Wait("wait", "all") + R"(
all:
  call void @tutti.barrier(i32 1, i32 64, i1 true)
  call void @tutti.barrier(i32 %n, i32 0, i1 true)
  call void @tutti.barrier(i32 0, i32 0, i1 false)
  call void @tutti.warp_barrier(i32 -1)
  store i32 1, ptr %word
  ret void
)"),
            "");
}

TEST(TurnRegions, EndAtABarrierThatCountsAllThreadsOfTheBlock) {
  const std::string body = "  br label %wait\n" + Wait("wait", "all") + R"(
all:
  call void @tutti.barrier(i32 0, i32 256, i1 true)
  store i32 1, ptr %word
  ret void
)";
  EXPECT_EQ(RegionsOf(body, BlockShape({32, 4, 2})), "wait>all");
  EXPECT_EQ(RegionsOf(body, BlockShape({512, 1, 1})), "");
  EXPECT_EQ(RegionsOf(body, BlockShape({0, 0, 0})), "");
}

// The barrier is behind the loop in one round and in front of it in the next one.
TEST(TurnRegions, DoNotEndInALoopAroundTheBarrier) {
  EXPECT_EQ(RegionsOf("  br label %wait\n" + Wait("wait", "each") + R"(
each:
  br i1 %p, label %all, label %more
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  br label %more
more:
  br i1 %q, label %wait, label %done
done:
  store i32 1, ptr %word
  ret void
)"),
            "");
}

// What is behind the barrier may not be what lanes come to without it.
TEST(TurnRegions, DoNotEndWhereAWayLeadsAroundTheBarrier) {
  EXPECT_EQ(RegionsOf("  br label %wait\n" + Wait("wait", "each") + R"(
each:
  br i1 %p, label %all, label %tail
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  br label %tail
tail:
  store i32 1, ptr %word
  br label %done
done:
  ret void
)"),
            "");
}

TEST(TurnRegions, OfLoopsThatABarrierPartsAreTwo) {
  EXPECT_EQ(RegionsOf("  br label %wait\n" + Wait("wait", "all") + R"(
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  br label %wait2
)" + Wait("wait2", "all2") +
                      R"(
all2:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  store i32 1, ptr %word
  ret void
)"),
            "wait>all wait2>all2");
}

TEST(TurnRegions, OfLoopsOnTwoWaysToABarrierAreOne) {
  EXPECT_EQ(RegionsOf("  br i1 %p, label %wait, label %wait2\n" + Wait("wait", "all") + Wait("wait2", "all") + R"(
all:
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  store i32 1, ptr %word
  ret void
)"),
            "wait2>wait>all");
}

}  // namespace
}  // namespace tutti::compiler
