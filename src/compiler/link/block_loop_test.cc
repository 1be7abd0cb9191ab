#include "compiler/link/block_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/passes/pass_managers.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

// {0} and {1}: flags and what else the loop over warps does. Offsets in WarpState and BlockState: {2} bytes of a
// WarpState, {3} params, {4} ctaid, {5} reach_bytes.
constexpr const char* kRun = R"(
  @tutti_kernel = constant <{{ i32, i32, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32, i32, [4 x i8], ptr }}> <{{
    i32 0, i32 0, ptr null, ptr @tutti.run, i32 {0}, i32 8, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0,
    [4 x i8] zeroinitializer, ptr null }}>
  declare void @use(i32, i32, i64, ptr)
  declare void @take(ptr)
  define internal void @called(ptr %warp) {{
    ret void
  }}
  define internal void @tutti.run(ptr %warps, i32 %count) {{
  entry:
    %room = alloca i64
    %state = load ptr, ptr %warps
    %params_at = getelementptr i8, ptr %state, i64 {3}
    %params = load i64, ptr %params_at, !invariant.load !0
    %param_at = inttoptr i64 %params to ptr
    %n = load i32, ptr %param_at, !invariant.load !0
    %twice = shl i32 %n, 1
    %behind_at = add i64 %params, 6
    %behind_p = inttoptr i64 %behind_at to ptr
    %behind = load i32, ptr %behind_p, !invariant.load !0
    %global = load i32, ptr inttoptr (i64 4096 to ptr)
    %x_at = getelementptr i8, ptr %state, i64 {4}
    %x0 = load i32, ptr %x_at, !invariant.load !0
    %first = shl i32 %x0, 8
    %reach_at = getelementptr i8, ptr %state, i64 {5}
    %reach = load i64, ptr %reach_at, !invariant.load !0
    br label %loop
  loop:
    %w = phi i32 [ 0, %entry ], [ %next, %loop ]
    %wide = zext i32 %w to i64
    %offset = mul i64 %wide, {2}
    %warp = getelementptr i8, ptr %warps, i64 %offset
    %own_block = load ptr, ptr %warp
    %own_x_at = getelementptr i8, ptr %own_block, i64 {4}
    %own_x = load i32, ptr %own_x_at, !invariant.load !0
    %i = add i32 %first, %own_x
    call void @use(i32 %i, i32 %twice, i64 %reach, ptr %room)
    call void @use(i32 %behind, i32 %global, i64 %reach, ptr %room)
    {1}
    %next = add i32 %w, 1
    %end = icmp eq i32 %next, %count
    br i1 %end, label %done, label %loop
  done:
    ret void
  }}
  !0 = !{{}}
)";

class BlockLoop : public testing::Test {
 protected:
  // Whether it got a loop.
  bool Run(uint32_t flags = 0, const std::string& more = "") {
    const std::string text =
        fmt::format(fmt::runtime(kRun), flags, more, sizeof(guest::WarpState), offsetof(guest::BlockState, params),
                    offsetof(guest::BlockState, ctaid), offsetof(guest::BlockState, reach_bytes));
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str() << diagnostic.getLineContents().str();
    function_ = module_->getFunction("tutti.run");
    PassManagers managers{llvm::Triple("x86_64-pc-linux-gnu")};
    BlockLoopPass().run(*function_, managers.functions);
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    return Block("block.ended") != nullptr;
  }
  llvm::BasicBlock* Block(llvm::StringRef name) {
    for (llvm::BasicBlock& block : *function_) {
      if (block.getName() == name) return &block;
    }
    return nullptr;
  }
  // The block that computes it.
  std::string Of(llvm::StringRef name) {
    for (llvm::Instruction& instruction : llvm::instructions(*function_)) {
      if (instruction.getName() == name) return instruction.getParent()->getName().str();
    }
    return "nowhere";
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Function* function_ = nullptr;
};

TEST_F(BlockLoop, WhatBlocksHaveInCommonIsComputedOnce) {
  ASSERT_TRUE(Run());
  for (const char* common : {"room", "params", "n", "twice", "reach"}) EXPECT_EQ(Of(common), "row") << common;
  EXPECT_EQ(Of("first"), "block") << "it follows from where the block is";
  EXPECT_EQ(Of("global"), "block") << "a block may have changed it";
  EXPECT_EQ(Of("behind"), "block") << "it lies behind the parameters, as far as is known";
}

TEST_F(BlockLoop, EachReadOfXIsOfTheBlockThatRuns) {
  ASSERT_TRUE(Run());
  const auto* x = llvm::dyn_cast<llvm::PHINode>(&Block("block")->front());
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(Of("x0"), "nowhere");
  EXPECT_EQ(Of("own_x"), "nowhere");
  for (llvm::Instruction& instruction : llvm::instructions(*function_)) {
    if (instruction.getName() == "first") EXPECT_EQ(instruction.getOperand(0), x);
    if (instruction.getName() == "i") EXPECT_EQ(instruction.getOperand(1), x);
  }
}

// BlockState::ctaid_end. What the program sees of a block keeps to it.
TEST_F(BlockLoop, SaysWhichBlockIsNextBeforeItAsksForTheEnd) {
  ASSERT_TRUE(Run());
  std::string order;
  for (const llvm::Instruction& instruction : *Block("block.ended")) {
    if (llvm::isa<llvm::FenceInst>(instruction)) order += "fence ";
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    const auto at = [](const llvm::Value* address) {
      return llvm::cast<llvm::ConstantInt>(llvm::cast<llvm::GetElementPtrInst>(address)->getOperand(1))->getZExtValue();
    };
    if (store != nullptr) {
      EXPECT_TRUE(store->isVolatile() && store->isAtomic());
      EXPECT_EQ(at(store->getPointerOperand()), offsetof(guest::BlockState, ctaid));
      order += "store ";
    }
    if (load != nullptr) {
      EXPECT_TRUE(load->isVolatile() && load->isAtomic());
      EXPECT_EQ(at(load->getPointerOperand()), offsetof(guest::BlockState, ctaid_end));
      order += "load ";
    }
  }
  EXPECT_EQ(order, "fence store fence load ");
}

TEST_F(BlockLoop, LeavesKernelsAloneWhoseWarpsMayWaitOrEnd) {
  for (const uint32_t flag : {uint32_t{guest::kYields}, uint32_t{guest::kEndsLanes}, uint32_t{guest::kCooperative}})
    EXPECT_FALSE(Run(flag)) << flag;
  EXPECT_TRUE(Run(guest::kUsesPrint | guest::kUsesHeap | guest::kBlocksInAnyOrder));
}

TEST_F(BlockLoop, LeavesCodeAloneThatMayReadXElsewhere) {
  EXPECT_TRUE(Run(0, "call void @take(ptr %warp)")) << "as a function of the guest runtime";
  EXPECT_FALSE(Run(0, "call void @called(ptr %warp)"));
  EXPECT_FALSE(Run(0, "%f = load ptr, ptr %room\n call void %f(ptr %warp)"));
  EXPECT_FALSE(Run(0, "call void @take(ptr %own_block)"));
  EXPECT_FALSE(Run(0, "store ptr %own_block, ptr %room"));
  EXPECT_FALSE(Run(0, "store ptr %warp, ptr %room"));
  EXPECT_FALSE(Run(0, "%number = ptrtoint ptr %own_block to i64"));
  EXPECT_FALSE(Run(0, "%at = getelementptr i8, ptr %own_block, i64 %offset"));
  EXPECT_FALSE(Run(0, "%two = load i64, ptr %own_x_at, !invariant.load !0")) << "x and y";
  EXPECT_FALSE(Run(0, "%block_number = load i64, ptr %warp")) << "the state's address as a number";
}

TEST_F(BlockLoop, LeavesCodeAloneWhoseFrameWouldGrowWithEachBlock) { EXPECT_FALSE(Run(0, "%more = alloca i32")); }

}  // namespace
}  // namespace tutti::compiler
