#include "compiler/threads/renewal.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "compiler/runtime/thread_state.h"
#include "compiler/threads/thread_emitter.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest_runtime::ThreadWarp;
using llvm::BasicBlock;
using llvm::Instruction;

// Others than the block may see that this has been done. What ends the kernel for good is none: that it comes later, or
// from other code, nobody can tell.
bool IsWrite(const Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    switch (ClassifyCall(*call).kind) {
      case Intrinsic::kPrint:
      case Intrinsic::kMalloc:
      case Intrinsic::kFree:
      case Intrinsic::kSetCondition:
      case Intrinsic::kDeviceRuntime: return true;
      default: return false;
    }
  }
  constexpr unsigned kShared = 3, kLocal = 5;
  const llvm::Value* pointer = nullptr;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) pointer = store->getPointerOperand();
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) pointer = atomic->getPointerOperand();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    pointer = exchange->getPointerOperand();
  if (pointer == nullptr) return false;
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  return space != kShared && space != kLocal && !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
}

}  // namespace

llvm::DenseSet<const BasicBlock*> BlocksBehindWrites(llvm::Function& kernel) {
  llvm::DenseSet<const BasicBlock*> behind;
  llvm::SmallVector<const BasicBlock*, 32> work;
  for (const BasicBlock& block : kernel) {
    if (llvm::any_of(block, IsWrite)) work.push_back(&block);
  }
  while (!work.empty()) {
    const BasicBlock* block = work.pop_back_val();
    if (!behind.insert(block).second) continue;
    for (const BasicBlock* next : llvm::successors(block)) work.push_back(next);
  }
  return behind;
}

Renewal FindRenewal(llvm::Function& kernel, const llvm::LoopInfo& loops) {
  // Of blocks into which some way leads that has no write. They only become more, so this ends.
  llvm::DenseSet<const BasicBlock*> unwritten{&kernel.getEntryBlock()};
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&kernel);
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock* block : order) {
      if (!unwritten.contains(block) || llvm::any_of(*block, IsWrite)) continue;
      for (BasicBlock* next : llvm::successors(block)) changed |= unwritten.insert(next).second;
    }
  }
  Renewal renewal;
  for (BasicBlock* block : order) {
    if (!unwritten.contains(block)) continue;
    const auto first = llvm::find_if(*block, IsWrite);
    if (first != block->end()) renewal.writes.push_back(&*first);
  }
  const llvm::DenseSet<const BasicBlock*> behind = BlocksBehindWrites(kernel);
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    BasicBlock* const latch = loop->getLoopLatch();
    if (latch != nullptr && !behind.contains(loop->getHeader())) renewal.rounds.push_back(latch->getTerminator());
  }
  return renewal;
}

void EmitLookForNewerCode(ThreadEmitter& emitter, Instruction& end) {
  llvm::IRBuilder<>& builder = emitter.builder();
  builder.SetInsertPoint(&end);
  llvm::Type* pointer = builder.getPtrTy();
  llvm::LoadInst* newest = builder.CreateLoad(pointer, emitter.WarpThreadsField(offsetof(ThreadWarp, newest), pointer));
  newest->setAtomic(llvm::AtomicOrdering::Monotonic);
  newest->setAlignment(llvm::Align(sizeof(void*)));
  llvm::Value* is_newer = builder.CreateICmpNE(newest, emitter.WarpThreadsField(offsetof(ThreadWarp, code), pointer));
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(
      is_newer, &end, /*Unreachable=*/false, llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights()));
  emitter.CallService(offsetof(guest::GuestServices, begin_anew), builder.getVoidTy(), {});
}

}  // namespace tutti::compiler
