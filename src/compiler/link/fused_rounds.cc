#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

#include "compiler/link/rounds.h"
#include "compiler/link/step_loops.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

// In instructions. Code that several steps reach is in each of them: so much more than once is not worth it.
constexpr size_t kMostRepeated = 3000;
// Of a step, for all warps together, and of all such steps: without a loop up to that.
constexpr size_t kMostWithoutLoop = 400, kMostWithoutLoops = 2000;

// What runs between one barrier, or the beginning, and the next ones.
struct Part {
  size_t size = 0;
  llvm::SmallSetVector<uint32_t, 4> ends;  // states that it returns
};

Part PartFrom(llvm::BasicBlock* begin) {
  Part part;
  llvm::SmallSetVector<llvm::BasicBlock*, 16> blocks;
  blocks.insert(begin);
  for (unsigned i = 0; i < blocks.size(); ++i) {
    part.size += blocks[i]->size();
    const llvm::Instruction* last = blocks[i]->getTerminator();
    if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(last)) {
      part.ends.insert(static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(end->getReturnValue())->getZExtValue()));
    }
    blocks.insert(llvm::succ_begin(blocks[i]), llvm::succ_end(blocks[i]));
  }
  return part;
}

class FusedRounds {
 public:
  FusedRounds(llvm::Function& run, const Step& step, std::vector<Part> parts)
      : run_(run), step_(step), parts_(std::move(parts)), builder_(&run.getEntryBlock()) {
    memory_ = MakeStepMemory(builder_, run, step, builder_.getInt64(step.warps));
    if (!step.some_end_early) return;
    ended_ = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), step.warps));
    builder_.CreateMemSet(ended_, builder_.getInt8(0), step.warps, llvm::Align(1));
  }

  void Emit() {
    for (size_t i = 0; i < parts_.size(); ++i) begins_.push_back(NewBlock("step"));
    done_ = NewBlock("done");
    builder_.CreateBr(begins_[0]);
    size_t without_loops = 0;
    for (uint32_t state = 0; state < parts_.size(); ++state) {
      const size_t size = parts_[state].size * step_.warps;
      const bool is_short = size <= kMostWithoutLoop && without_loops + size <= kMostWithoutLoops;
      if (is_short) without_loops += size;
      builder_.SetInsertPoint(begins_[state]);
      llvm::Value* reached = is_short ? EmitEach(state) : EmitLoop(state);
      GoOn(parts_[state], reached);
    }
    builder_.SetInsertPoint(done_);
    builder_.CreateRetVoid();
    for (llvm::CallInst* call : calls_) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*call, info);
    }
    step_.function->eraseFromParent();
  }

 private:
  llvm::BasicBlock* NewBlock(const char* name) { return llvm::BasicBlock::Create(run_.getContext(), name, &run_); }

  bool IsDownwards(uint32_t state) const { return state > step_.upwards; }

  // The state that the warp reaches, or, if it ends or has ended, `before`: which the warps before it have reached.
  llvm::Value* Advance(uint32_t state, llvm::Value* number, llvm::Value* before) {
    const auto call = [&] {
      calls_.push_back(CallStep(builder_, step_, memory_, number, builder_.getInt32(state)));
      return calls_.back();
    };
    if (ended_ == nullptr) return call();
    auto *advance = NewBlock("advance"), *next = NewBlock("next"), *from = builder_.GetInsertBlock();
    llvm::Value* has_ended = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), ended_, number);
    builder_.CreateCondBr(builder_.CreateIsNull(builder_.CreateLoad(builder_.getInt8Ty(), has_ended)), advance, next);
    builder_.SetInsertPoint(advance);
    llvm::Value* reached = call();
    llvm::Value* ends = builder_.CreateICmpEQ(reached, builder_.getInt32(Step::kEnded));
    builder_.CreateStore(builder_.CreateZExt(ends, builder_.getInt8Ty()), has_ended);
    reached = builder_.CreateSelect(ends, before, reached);
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
    auto* now = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    now->addIncoming(before, from);
    now->addIncoming(reached, advance);
    return now;
  }

  // The state that the warps have reached; kEnded if all have.
  llvm::Value* EmitEach(uint32_t state) {
    llvm::Value* reached = builder_.getInt32(Step::kEnded);
    for (uint64_t i = 0; i < step_.warps; ++i)
      reached = Advance(state, builder_.getInt64(IsDownwards(state) ? step_.warps - 1 - i : i), reached);
    return reached;
  }

  llvm::Value* EmitLoop(uint32_t state) {
    const bool downwards = IsDownwards(state);
    llvm::Value *first = builder_.getInt64(0), *last = builder_.getInt64(step_.warps - 1);
    if (downwards) std::swap(first, last);
    auto *loop = NewBlock("warps"), *end = NewBlock("end");
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    auto* number = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    auto* before = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    number->addIncoming(first, begins_[state]);
    before->addIncoming(builder_.getInt32(Step::kEnded), begins_[state]);
    llvm::Value* reached = Advance(state, number, before);
    llvm::Value* next = downwards ? builder_.CreateSub(number, builder_.getInt64(1))
                                  : builder_.CreateNUWAdd(number, builder_.getInt64(1));
    number->addIncoming(next, builder_.GetInsertBlock());
    before->addIncoming(reached, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpEQ(number, last), end, loop);
    builder_.SetInsertPoint(end);
    return reached;
  }

  // Behind a barrier memory is read again: other blocks may have written it while the warps waited for a lane that
  // waited for them.
  void GoOn(const Part& part, llvm::Value* reached) {
    PassSharedOn(builder_, step_, memory_);
    builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
    const auto begin = [&](uint32_t state) { return state == Step::kEnded ? done_ : begins_[state]; };
    if (part.ends.empty()) {
      builder_.CreateUnreachable();
      return;
    }
    auto* choice = builder_.CreateSwitch(reached, begin(part.ends[0]), static_cast<unsigned>(part.ends.size()));
    for (size_t i = 1; i < part.ends.size(); ++i) choice->addCase(builder_.getInt32(part.ends[i]), begin(part.ends[i]));
  }

  llvm::Function& run_;
  const Step& step_;
  const std::vector<Part> parts_;  // by state
  llvm::IRBuilder<> builder_;
  StepMemory memory_{};
  llvm::Value* ended_ = nullptr;  // an i8 for each warp; null: all end together
  llvm::SmallVector<llvm::BasicBlock*, 8> begins_;  // by state
  llvm::BasicBlock* done_ = nullptr;
  llvm::SmallVector<llvm::CallInst*, 32> calls_;
};

}  // namespace

bool EmitFusedRounds(llvm::Function& run, const Step& step) {
  if (step.warps == 0) return false;
  auto* enter = llvm::cast<llvm::SwitchInst>(step.function->getEntryBlock().getTerminator());
  std::vector<Part> parts;
  size_t size = 0;
  for (uint32_t state = 0; state <= step.barriers; ++state) {
    auto* value = llvm::ConstantInt::get(llvm::cast<llvm::IntegerType>(enter->getCondition()->getType()), state);
    parts.push_back(PartFrom(enter->findCaseValue(value)->getCaseSuccessor()));
    size += parts.back().size;
  }
  if (size > step.function->getInstructionCount() + kMostRepeated) return false;
  FusedRounds(run, step, std::move(parts)).Emit();
  return true;
}

}  // namespace tutti::compiler
