// The parts of FunctionEmitter that depend on the emitters of instruction families (memory/, warp/, arithmetic/,
// control/), which in turn know FunctionEmitter: a function's entry, and the choice of an emitter for each instruction.
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/arithmetic/approximations.h"
#include "compiler/widen/arithmetic/directed.h"
#include "compiler/widen/arithmetic/elementwise.h"
#include "compiler/widen/control/calls.h"
#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/lanes/lane_calls.h"
#include "compiler/widen/lanes/lane_functions.h"
#include "compiler/widen/memory/atomics.h"
#include "compiler/widen/memory/matrix_load.h"
#include "compiler/widen/memory/memory.h"
#include "compiler/widen/memory/tensor_copy.h"
#include "compiler/widen/memory/warp_group.h"
#include "compiler/widen/warp/services.h"
#include "compiler/widen/warp/warp_ops.h"

namespace tutti::compiler {

void FunctionEmitter::PrepareEntry() {
  auto* setup = llvm::BasicBlock::Create(wide_.getContext(), "setup", &wide_, entries_[0]);
  builder_.SetInsertPoint(setup);
  setup_first_ = setup;
  values_.EnterBlock(0);
  if (is_kernel()) {
    if (module_.block.has_full_warps()) {
      entry_mask_ = llvm::ConstantInt::getTrue(Values::Wide(builder_.getInt1Ty()));
    } else {
      entry_mask_ = Lanes(builder_.CreateLoad(builder_.getInt32Ty(), abi_.LanesAddress(builder_)));
    }
  } else {
    entry_mask_ = Lanes(wide_.getArg(1));
    mask_ = entry_mask_;
    DefineArguments(*this, wide_);
  }
  pending_.resize(schedule_.size());
  for (unsigned i = 0; i < schedule_.size(); ++i) {
    if (schedule_.runs_all_lanes(i)) {
      // It needs its pending mask all the same if another block may run while lanes are pending here.
      bool asked = false;
      for (unsigned other = 0; other < schedule_.size() && !asked; ++other) asked = schedule_.waiting(other).test(i);
      if (!asked) continue;
    }
    ReservePending(i);
  }
  setup_last_ = builder_.GetInsertBlock();
}

void FunctionEmitter::EmitInstruction(const llvm::Instruction& instruction) {
  ++module_.wide_operations;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (!IsWarpVariable(*load->getPointerOperand())) return EmitLoad(*this, *load);
    llvm::SmallVector<llvm::Value*, 2> parts;
    for (llvm::AllocaInst* part : WarpVariable(*load->getPointerOperand())) {
      parts.push_back(
          builder_.CreateAlignedLoad(part->getAllocatedType(), part, part->getAlign(), /*isVolatile=*/true));
    }
    return Define(*load, parts);
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (!IsWarpVariable(*store->getPointerOperand())) return EmitStore(*this, *store);
    unsigned component = 0;
    for (llvm::AllocaInst* part : WarpVariable(*store->getPointerOperand())) {
      llvm::Value* others =
          builder_.CreateAlignedLoad(part->getAllocatedType(), part, part->getAlign(), /*isVolatile=*/true);
      llvm::Value* value = builder_.CreateSelect(mask_, values_.Vector(store->getValueOperand(), component++), others);
      builder_.CreateAlignedStore(value, part, part->getAlign(), /*isVolatile=*/true);
    }
    return;
  }
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return EmitAtomicRmw(*this, *atomic);
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return EmitCompareExchange(*this, *exchange);
  if (const auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    builder_.CreateFence(fence->getOrdering(), fence->getSyncScopeID());
    return;
  }
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    if (IsWarpVariable(*alloca)) return;
    const uint64_t begin = InterleaveDistance(*alloca) != 0 ? module_.frame_bytes * kLanes : 0;
    llvm::Value* base = builder_.CreateAdd(abi_.local_base(), builder_.getInt64(begin + frame_.OffsetOf(*alloca)));
    if (!is_kernel()) base = builder_.CreateAdd(base, wide_.getArg(2));
    return Define(*alloca, {base});
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return EmitCall(*call);
  EmitElementwise(*this, instruction);
}

void FunctionEmitter::EmitCall(const llvm::CallInst& call) {
  if (IsElementwiseIntrinsic(call)) return EmitElementwise(*this, call);
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return Unsupported(call, "its target is not a function");
  if (IsLaneFunction(*callee)) return EmitLaneCall(*this, call);
  if (callee->isIntrinsic()) {
    if (llvm::isa<llvm::DbgInfoIntrinsic, llvm::AssumeInst, llvm::LifetimeIntrinsic>(call) ||
        callee->getIntrinsicID() == llvm::Intrinsic::donothing ||
        callee->getIntrinsicID() == llvm::Intrinsic::experimental_noalias_scope_decl) {
      return;
    }
    return Unsupported(call, "LLVM's intrinsic is not known");
  }
  const IntrinsicCall intrinsic = ClassifyFunction(callee);
  if (intrinsic.kind == Intrinsic::kNone || intrinsic.kind == Intrinsic::kIndirectCall)
    return EmitFunctionCall(*this, call, intrinsic.kind);
  if (EmitWarpOperation(*this, call, intrinsic) || EmitMatrixLoad(*this, call, intrinsic) ||
      EmitWarpGroup(*this, call, intrinsic) || EmitTensorCopy(*this, call, intrinsic) ||
      (intrinsic.kind == Intrinsic::kFunction &&
       (EmitDirected(*this, call, intrinsic.suffix) || EmitApproximation(*this, call, intrinsic.suffix))) ||
      EmitService(*this, call, intrinsic))
    return;
  Unsupported(call, "the function is not in the contract");
}

}  // namespace tutti::compiler
