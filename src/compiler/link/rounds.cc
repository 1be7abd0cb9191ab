#include "compiler/link/rounds.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>

#include "compiler/link/step_loops.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

class Rounds {
 public:
  Rounds(llvm::Function& run, const Step& step) : run_(run), step_(step), builder_(&run.getEntryBlock()) {
    entry_ = builder_.GetInsertBlock();
    count_ =
        step.warps != 0 ? builder_.getInt64(step.warps) : builder_.CreateZExt(run.getArg(1), builder_.getInt64Ty());
    memory_ = MakeStepMemory(builder_, run, step, count_);
    states_ = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt32Ty(), guest::kWarpSize));
    states_->setAlignment(llvm::Align(64));
    builder_.CreateMemSet(states_, builder_.getInt8(0), sizeof(uint32_t) * guest::kWarpSize, llvm::Align(64));
  }

  void Emit() {
    auto* done = NewBlock("done");
    const Round up = EmitRound(false);
    builder_.SetInsertPoint(entry_);
    builder_.CreateCondBr(builder_.CreateICmpEQ(count_, builder_.getInt64(0)), done, up.begin);
    if (step_.upwards == step_.barriers) {
      GoOn(up, up.begin, done);
    } else {
      const Round down = EmitRound(true);
      for (const Round& round : {up, down}) {
        auto* again = NewBlock("again");
        GoOn(round, again, done);
        builder_.SetInsertPoint(again);
        llvm::Value* is_up =
            builder_.CreateICmpULE(round.waits_at, builder_.getInt32(static_cast<uint32_t>(step_.upwards)));
        builder_.CreateCondBr(is_up, up.begin, down.begin);
      }
    }
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
  }

 private:
  struct Round {
    llvm::BasicBlock *begin, *end;
    llvm::Value* waits_at;  // the barrier of the last warp that waits, from 1 on; or kEnded
  };

  llvm::BasicBlock* NewBlock(const char* name) { return llvm::BasicBlock::Create(run_.getContext(), name, &run_); }

  Round EmitRound(bool downwards) {
    llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    auto *begin = NewBlock("round"), *next = NewBlock("next"), *advance = NewBlock("step"), *skip = NewBlock("skip");
    auto* end = NewBlock("end");
    llvm::Value* ended = builder_.getInt32(Step::kEnded);
    builder_.SetInsertPoint(begin);
    llvm::Value* last = builder_.CreateSub(count_, builder_.getInt64(1));
    builder_.CreateBr(next);

    builder_.SetInsertPoint(next);
    auto* index = builder_.CreatePHI(i64, 2);
    auto* before = builder_.CreatePHI(i32, 2);
    llvm::Value* slot = builder_.CreateInBoundsGEP(i32, states_, index);
    llvm::Value* state = builder_.CreateLoad(i32, slot);
    builder_.CreateCondBr(builder_.CreateICmpEQ(state, ended), skip, advance);

    builder_.SetInsertPoint(advance);
    llvm::Value* reached = CallStep(builder_, step_, memory_, index, state);
    builder_.CreateStore(reached, slot);
    llvm::Value* now = builder_.CreateSelect(builder_.CreateICmpEQ(reached, ended), before, reached);
    builder_.CreateBr(skip);

    builder_.SetInsertPoint(skip);
    auto* waits_at = builder_.CreatePHI(i32, 2);
    waits_at->addIncoming(before, next);
    waits_at->addIncoming(now, advance);
    llvm::Value* following = builder_.CreateAdd(index, builder_.getInt64(downwards ? ~0ull : 1));
    llvm::Value* is_last = builder_.CreateICmpEQ(index, downwards ? builder_.getInt64(0) : last);
    builder_.CreateCondBr(is_last, end, next);
    index->addIncoming(downwards ? last : builder_.getInt64(0), begin);
    index->addIncoming(following, skip);
    before->addIncoming(ended, begin);
    before->addIncoming(waits_at, skip);
    return {begin, end, waits_at};
  }

  void GoOn(const Round& round, llvm::BasicBlock* again, llvm::BasicBlock* done) {
    builder_.SetInsertPoint(round.end);
    PassSharedOn(builder_, step_, memory_);
    builder_.CreateCondBr(builder_.CreateICmpEQ(round.waits_at, builder_.getInt32(Step::kEnded)), done, again);
  }

  llvm::Function& run_;
  const Step& step_;
  llvm::IRBuilder<> builder_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* count_ = nullptr;
  StepMemory memory_{};
  llvm::AllocaInst* states_ = nullptr;
};

}  // namespace

StepMemory MakeStepMemory(llvm::IRBuilder<>& builder, llvm::Function& run, const Step& step, llvm::Value* count) {
  const auto room = [&](llvm::Value* bytes) {
    auto* size = llvm::dyn_cast<llvm::ConstantInt>(bytes);
    llvm::AllocaInst* variable = builder.CreateAlloca(builder.getInt8Ty(), bytes);
    // As one array, so that it can be taken apart.
    if (size != nullptr) {
      variable->setAllocatedType(llvm::ArrayType::get(builder.getInt8Ty(), size->getZExtValue()));
      variable->setOperand(0, builder.getInt64(1));
    }
    variable->setAlignment(llvm::Align(64));
    return variable;
  };
  llvm::Value* shared_bytes = builder.getInt64(step.shared_bytes);
  return {.warps = run.getArg(0),
          .frames = room(builder.CreateMul(count, builder.getInt64(step.frame_bytes))),
          .shared_before = room(shared_bytes),
          .shared_after = room(shared_bytes)};
}

llvm::CallInst* CallStep(llvm::IRBuilder<>& builder, const Step& step, const StepMemory& memory, llvm::Value* number,
                         llvm::Value* state) {
  const auto of_warp = [&](llvm::Value* all, uint64_t bytes) {
    return builder.CreateInBoundsGEP(builder.getInt8Ty(), all, builder.CreateMul(number, builder.getInt64(bytes)));
  };
  llvm::SmallVector<llvm::Value*, 24> arguments(Step::kValues);
  arguments[Step::kWarp] = of_warp(memory.warps, sizeof(guest::WarpState));
  arguments[Step::kNumber] = builder.CreateTrunc(number, builder.getInt32Ty());
  arguments[Step::kFrame] = of_warp(memory.frames, step.frame_bytes);
  arguments[Step::kSharedBefore] = memory.shared_before;
  arguments[Step::kSharedAfter] = memory.shared_after;
  arguments[Step::kState] = state;
  arguments.append(step.values.begin(), step.values.end());
  return builder.CreateCall(step.function, arguments);
}

void PassSharedOn(llvm::IRBuilder<>& builder, const Step& step, const StepMemory& memory) {
  for (const auto& [offset, type] : step.shared_places) {
    const auto in = [&](llvm::Value* frame) {
      return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), frame, offset);
    };
    builder.CreateStore(builder.CreateLoad(type, in(memory.shared_after)), in(memory.shared_before));
  }
}

void EmitRounds(llvm::Function& run, const Step& step) { Rounds(run, step).Emit(); }

}  // namespace tutti::compiler
