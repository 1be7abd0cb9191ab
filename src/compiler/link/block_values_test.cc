#include "compiler/link/block_values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kParamBytes = 16;

// A warp's code. %n is a parameter, %number the warp's own.
constexpr const char* kPrologue = R"(
  declare void @wait()
  define void @f(ptr %warp) {{
  entry:
    %block = load ptr, ptr %warp, !invariant.load !0
    %params_at = getelementptr inbounds i8, ptr %block, i64 {}
    %params = load i64, ptr %params_at, !invariant.load !0
    %param = inttoptr i64 %params to ptr
    %n = load i32, ptr %param, !invariant.load !0
    %last_at = add i64 %params, 12
    %last_pointer = inttoptr i64 %last_at to ptr
    %last = load i32, ptr %last_pointer, !invariant.load !0
    %beyond_at = add i64 %params, 13
    %beyond_pointer = inttoptr i64 %beyond_at to ptr
    %beyond = load i32, ptr %beyond_pointer, !invariant.load !0
    %number_at = getelementptr inbounds i8, ptr %warp, i64 {}
    %number = load i32, ptr %number_at, !invariant.load !0
    %global = load i32, ptr %param
    %twice = shl i32 %n, 1
    %quotient = udiv i32 %n, %last
    %lane = shl i32 %number, 5
    %first = icmp eq i32 %number, 0
)";

class BlockValuesTest : public testing::Test {
 protected:
  BlockValues Of(const std::string& body) {
    const std::string text =
        fmt::format(fmt::runtime(kPrologue), offsetof(guest::BlockState, params), offsetof(guest::WarpState, warp)) +
        body + "\n}\n!0 = !{}\n";
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str();
    return BlockValues(*module_->getFunction("f"), kParamBytes);
  }
  llvm::Instruction& Named(llvm::StringRef name) {
    for (llvm::Instruction& instruction : llvm::instructions(*module_->getFunction("f"))) {
      if (instruction.getName() == name) return instruction;
    }
    ADD_FAILURE() << "there is no " << name.str();
    return *module_->getFunction("f")->getEntryBlock().begin();
  }
  llvm::SmallVector<llvm::CallInst*, 4> Barriers() {
    llvm::SmallVector<llvm::CallInst*, 4> barriers;
    for (llvm::User* user : module_->getFunction("wait")->users()) barriers.push_back(llvm::cast<llvm::CallInst>(user));
    return barriers;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(BlockValuesTest, WarpsThatComeToNoTurnAnyMoreHaveLeftTheOthers) {
  // A guard, a loop that all count alike, and one that each leaves as it likes.
  Of(R"(
    br i1 %first, label %done, label %loop
  loop:
    %k = phi i32 [ 0, %entry ], [ %next, %more ]
    %own = phi i32 [ %lane, %entry ], [ %sum, %more ]
    call void @wait()
    %sum = add i32 %own, %k
    %ends = icmp eq i32 %sum, 7
    br i1 %ends, label %done, label %more
  more:
    %next = add i32 %k, 1
    %again = icmp ult i32 %next, %n
    br i1 %again, label %loop, label %done
  done:
    %reached = phi i32 [ 0, %entry ], [ %k, %loop ], [ %next, %more ]
    ret void)");
  llvm::Function& warp = *module_->getFunction("f");
  EXPECT_FALSE(BlockValues(warp, kParamBytes).AllMeetAt(Barriers()));
  const auto turns = Barriers();
  const BlockValues values(warp, kParamBytes, turns);
  EXPECT_TRUE(values.AllMeetAt(turns));
  EXPECT_TRUE(values.IsShared(Named("again")));
  EXPECT_FALSE(values.IsShared(Named("own")));
  EXPECT_FALSE(values.IsShared(Named("reached")));
}

TEST_F(BlockValuesTest, WarpsThatComeToDifferentTurnsAreApart) {
  Of(R"(
    br i1 %first, label %one, label %other
  one:
    call void @wait()
    br label %done
  other:
    call void @wait()
    br label %done
  done:
    ret void)");
  const auto turns = Barriers();
  EXPECT_FALSE(BlockValues(*module_->getFunction("f"), kParamBytes, turns).AllMeetAt(turns));
}

TEST_F(BlockValuesTest, ParametersAreKnownWhenTheBlockBegins) {
  BlockValues values = Of("ret void");
  for (const char* name : {"block", "params", "n", "last", "twice"}) EXPECT_TRUE(values.IsOfBlock(Named(name))) << name;
}

TEST_F(BlockValuesTest, WhatMayFailOrChangeIsNotComputedAhead) {
  BlockValues values = Of("ret void");
  for (const char* name : {"beyond", "quotient", "global", "number", "lane"})
    EXPECT_FALSE(values.IsOfBlock(Named(name))) << name;
  EXPECT_TRUE(values.IsShared(Named("quotient")));
  for (const char* name : {"global", "number", "lane"}) EXPECT_FALSE(values.IsShared(Named(name))) << name;
}

TEST_F(BlockValuesTest, TheWarpsNumberIsNotTheBlocksState) {
  BlockValues values = Of("ret void");
  EXPECT_TRUE(BlockValues::IsWarpNumber(Named("number")));
  EXPECT_FALSE(BlockValues::IsWarpNumber(Named("n")));
}

TEST_F(BlockValuesTest, WarpsDoNotMeetWhereOnlySomeGo) {
  const BlockValues values = Of(R"(
    br i1 %first, label %some, label %all
  some:
    call void @wait()
    br label %all
  all:
    ret void)");
  EXPECT_FALSE(values.AllMeetAt(Barriers()));
}

TEST_F(BlockValuesTest, WarpsMeetAgainBehindABranch) {
  const BlockValues values = Of(R"(
    br i1 %first, label %some, label %all
  some:
    br label %all
  all:
    %from = phi i32 [ 1, %entry ], [ 2, %some ]
    call void @wait()
    ret void)");
  EXPECT_TRUE(values.AllMeetAt(Barriers()));
  EXPECT_FALSE(values.IsShared(Named("from")));
}

TEST_F(BlockValuesTest, WarpsCountTheRoundsOfACommonLoopAlike) {
  const BlockValues values = Of(R"(
    br label %loop
  loop:
    %i = phi i32 [ 0, %entry ], [ %next, %behind ]
    br i1 %first, label %some, label %behind
  some:
    br label %behind
  behind:
    call void @wait()
    %next = add i32 %i, 1
    %more = icmp ult i32 %next, %n
    br i1 %more, label %loop, label %done
  done:
    ret void)");
  EXPECT_TRUE(values.AllMeetAt(Barriers()));
  EXPECT_TRUE(values.IsShared(Named("i")));
  EXPECT_TRUE(values.IsShared(Named("next")));
}

TEST_F(BlockValuesTest, WhatIsLeftOfALoopThatEachWarpLeavesByItselfDiffers) {
  const BlockValues values = Of(R"(
    br label %loop
  loop:
    %i = phi i32 [ 0, %entry ], [ %next, %loop ]
    %next = add i32 %i, 1
    %more = icmp ult i32 %next, %lane
    br i1 %more, label %loop, label %done
  done:
    %left = add i32 %next, %n
    call void @wait()
    ret void)");
  EXPECT_TRUE(values.AllMeetAt(Barriers()));
  EXPECT_FALSE(values.IsShared(Named("left")));
}

TEST_F(BlockValuesTest, WarpsDoNotMeetInALoopThatEachLeavesByItself) {
  const BlockValues values = Of(R"(
    br label %loop
  loop:
    %i = phi i32 [ 0, %entry ], [ %next, %loop ]
    call void @wait()
    %next = add i32 %i, 1
    %more = icmp ult i32 %next, %lane
    br i1 %more, label %loop, label %done
  done:
    ret void)");
  EXPECT_FALSE(values.AllMeetAt(Barriers()));
}

}  // namespace
}  // namespace tutti::compiler
