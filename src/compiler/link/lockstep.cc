#include "compiler/link/lockstep.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>

#include "compiler/link/descriptor_fields.h"
#include "compiler/link/frame_cut.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BarrierMode;
using guest::GuestServices;
using guest::KernelDescriptor;
using guest::WarpState;

constexpr uint64_t kMaxFrameBytes = 16 << 10;  // of one warp: beyond that a stack per warp is no worse

// The offset in GuestServices of the service that `call` calls; nothing for other calls.
std::optional<uint64_t> ServiceOf(const llvm::CallInst& call) {
  const llvm::MDNode* mark = call.getMetadata("tutti.service");
  if (mark == nullptr) return std::nullopt;
  return llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue();
}

bool Waits(uint64_t service) {
  return service == offsetof(GuestServices, barrier) || service == offsetof(GuestServices, barrier_reduce) ||
         service == offsetof(GuestServices, yield) || service == offsetof(GuestServices, cluster_barrier) ||
         service == offsetof(GuestServices, warp_group_barrier) || service == offsetof(GuestServices, grid_barrier) ||
         service == offsetof(GuestServices, barrier_enter) || service == offsetof(GuestServices, barrier_pass);
}

bool IsConstant(const llvm::Value* value, uint64_t expected) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getZExtValue() == expected;
}

// All lanes of the warp: a constant mask, or the one in the warp's state when it began.
bool IsWholeWarp(const llvm::Value* mask, const llvm::Function& warp) {
  if (IsConstant(mask, ~0u)) return true;
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(mask);
  if (load == nullptr || load->getParent() != &warp.getEntryBlock()) return false;
  llvm::APInt offset(64, 0);
  const llvm::Value* base =
      load->getPointerOperand()->stripAndAccumulateConstantOffsets(warp.getDataLayout(), offset, true);
  return base == warp.getArg(0) && offset == offsetof(WarpState, lanes);
}

bool IsMode(const llvm::CallInst& barrier, BarrierMode mode) {
  return IsConstant(barrier.getArgOperand(4), static_cast<uint64_t>(mode));
}

// All lanes of the warp wait for the whole block.
bool IsBlockBarrier(const llvm::CallInst& call, const llvm::Function& warp, uint32_t threads) {
  if (ServiceOf(call) != offsetof(GuestServices, barrier)) return false;
  const bool whole_block =
      IsConstant(call.getArgOperand(3), 0) || (threads != 0 && IsConstant(call.getArgOperand(3), threads));
  return IsWholeWarp(call.getArgOperand(1), warp) && whole_block &&
         (IsMode(call, BarrierMode::kArriveAndWait) || IsMode(call, BarrierMode::kArriveAndWaitDown));
}

// The barriers of `warp`; nothing if the kernel also waits in a way that rounds of all warps do not implement.
std::optional<llvm::SmallVector<llvm::CallInst*, 8>> FindBarriers(llvm::Function& warp, uint32_t threads) {
  llvm::SmallVector<llvm::CallInst*, 8> barriers;
  for (llvm::Function& function : *warp.getParent()) {
    if (function.getName().starts_with("tutti_")) continue;  // the guest runtime never waits
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const auto service = ServiceOf(*call);
      if (!service && call->getCalledFunction() == nullptr && !call->isInlineAsm()) return std::nullopt;
      if (!service || !Waits(*service)) continue;
      if (&function != &warp || !IsBlockBarrier(*call, warp, threads)) return std::nullopt;
      barriers.push_back(call);
    }
  }
  return barriers;
}

// i32 step(warp, frame, state), with the body of `warp`.
llvm::Function* MakeStep(llvm::Function& warp) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(warp.getContext());
  llvm::Type* pointer = warp.getArg(0)->getType();
  auto* step = llvm::Function::Create(llvm::FunctionType::get(i32, {pointer, pointer, i32}, false),
                                      llvm::GlobalValue::InternalLinkage, "tutti.step", *warp.getParent());
  step->copyAttributesFrom(&warp);
  step->setSubprogram(warp.getSubprogram());
  warp.setSubprogram(nullptr);
  step->splice(step->begin(), &warp);
  warp.getArg(0)->replaceAllUsesWith(step->getArg(0));
  for (llvm::BasicBlock& block : *step) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::ReturnInst::Create(warp.getContext(), llvm::ConstantInt::getSigned(i32, -1), end->getIterator());
    end->eraseFromParent();
  }
  return step;
}

// Emits run(warps, count): in each round every warp that has not ended takes one step. The barrier at which the
// previous round's last warp waits determines the order of a round, as where warps have stacks of their own.
class Rounds {
 public:
  // `warps`: of a block; 0: known only at launch.
  Rounds(llvm::Function& run, llvm::Function& step, uint64_t frame_bytes, uint64_t warps)
      : run_(Emptied(run)), step_(step), frame_bytes_(frame_bytes), builder_(NewBlock("")) {
    entry_ = builder_.GetInsertBlock();
    count_ = warps != 0 ? builder_.getInt64(warps) : builder_.CreateZExt(run.getArg(1), builder_.getInt64Ty());
    frames_ = builder_.CreateAlloca(builder_.getInt8Ty(), builder_.CreateMul(count_, builder_.getInt64(frame_bytes)));
    frames_->setAlignment(llvm::Align(64));
    states_ = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt32Ty(), guest::kWarpSize));
    states_->setAlignment(llvm::Align(64));
    builder_.CreateMemSet(states_, builder_.getInt8(0), sizeof(uint32_t) * guest::kWarpSize, llvm::Align(64));
  }

  // After the first `upwards` barriers warps run in ascending order, after the others in descending order.
  void Emit(size_t upwards, size_t barriers) {
    auto* done = NewBlock("done");
    const Round up = EmitRound(false);
    builder_.SetInsertPoint(entry_);
    builder_.CreateCondBr(builder_.CreateICmpEQ(count_, builder_.getInt64(0)), done, up.begin);
    if (upwards == barriers) {
      GoOn(up, up.begin, done);
    } else {
      const Round down = EmitRound(true);
      for (const Round& round : {up, down}) {
        auto* again = NewBlock("again");
        GoOn(round, again, done);
        builder_.SetInsertPoint(again);
        llvm::Value* is_up = builder_.CreateICmpULE(round.waits_at, builder_.getInt32(static_cast<uint32_t>(upwards)));
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
  static constexpr uint32_t kEnded = ~0u;

  static llvm::Function& Emptied(llvm::Function& run) {
    run.deleteBody();
    run.setLinkage(llvm::GlobalValue::InternalLinkage);
    return run;
  }
  llvm::BasicBlock* NewBlock(const char* name) { return llvm::BasicBlock::Create(run_.getContext(), name, &run_); }

  Round EmitRound(bool downwards) {
    llvm::Type *i8 = builder_.getInt8Ty(), *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    auto *begin = NewBlock("round"), *next = NewBlock("next"), *advance = NewBlock("step"), *skip = NewBlock("skip");
    auto* end = NewBlock("end");
    llvm::Value* ended = builder_.getInt32(kEnded);
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
    const auto of_warp = [&](llvm::Value* all, uint64_t bytes) {
      return builder_.CreateInBoundsGEP(i8, all, builder_.CreateMul(index, builder_.getInt64(bytes)));
    };
    llvm::Value* warp = of_warp(run_.getArg(0), sizeof(WarpState));
    llvm::Value* frame = of_warp(frames_, frame_bytes_);
    llvm::Value* reached = builder_.CreateCall(&step_, {warp, frame, state});
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
    builder_.CreateCondBr(builder_.CreateICmpEQ(round.waits_at, builder_.getInt32(kEnded)), done, again);
  }

  llvm::Function& run_;
  llvm::Function& step_;
  const uint64_t frame_bytes_;
  llvm::IRBuilder<> builder_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* count_ = nullptr;
  llvm::AllocaInst *frames_ = nullptr, *states_ = nullptr;
};

uint32_t ThreadsOf(const DescriptorFields& descriptor) {
  uint32_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) threads *= descriptor.Get32(offsetof(KernelDescriptor, block) + 4 * axis);
  return threads;
}

}  // namespace

bool RunInLockstep(llvm::Module& module) {
  llvm::Function* warp = module.getFunction("tutti.warp");
  llvm::Function* run = module.getFunction("tutti.run");
  auto descriptor = DescriptorFields::Of(module);
  if (warp == nullptr || run == nullptr || !descriptor) return false;
  const uint32_t flags = descriptor->Get32(offsetof(KernelDescriptor, flags));
  if ((flags & guest::kYields) == 0 || (flags & guest::kCooperative) != 0) return false;
  const uint32_t threads = ThreadsOf(*descriptor);
  auto barriers = FindBarriers(*warp, threads);
  if (!barriers || barriers->empty()) return false;
  const auto down = std::ranges::stable_partition(
      *barriers, [](const llvm::CallInst* call) { return IsMode(*call, BarrierMode::kArriveAndWait); });

  FrameCut cut(*warp, *barriers);
  const uint64_t frame_bytes = cut.frame_bytes();
  if (frame_bytes > kMaxFrameBytes) return false;
  llvm::Function* step = MakeStep(*warp);
  cut.Apply(*step);
  const uint64_t warps = (threads + guest::kWarpSize - 1) / guest::kWarpSize;  // 0: unknown
  Rounds(*run, *step, frame_bytes, warps).Emit(barriers->size() - down.size(), barriers->size());
  warp->eraseFromParent();
  descriptor->Set32(offsetof(KernelDescriptor, flags), flags & ~guest::kYields);
  const uint64_t frames_bytes = (warps != 0 ? warps : guest::kWarpSize) * frame_bytes;
  const uint64_t stack_bytes =
      descriptor->Get32(offsetof(KernelDescriptor, stack_bytes)) + llvm::alignTo(frames_bytes + 256, 4096);
  descriptor->Set32(offsetof(KernelDescriptor, stack_bytes), static_cast<uint32_t>(stack_bytes));
  return true;
}

}  // namespace tutti::compiler
