#include "compiler/widen/spin_loops.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include "compiler/widen/intrinsics.h"

namespace tutti::compiler {
namespace {

// The value shows what others wrote, without itself making progress: a counter taken from a queue does not wait.
bool Observes(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !load->isSimple();
  if (llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) return true;
  const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (atomic == nullptr) return false;
  if (atomic->getOperation() == llvm::AtomicRMWInst::Xchg) return true;
  const auto* operand = llvm::dyn_cast<llvm::ConstantInt>(atomic->getValOperand());
  return operand != nullptr && (operand->isZero() || operand->isMinusOne()) && atomic->getOperation() != llvm::AtomicRMWInst::Sub;
}

bool DependsOnObservation(const llvm::Loop& loop, const llvm::Value* value, llvm::DenseSet<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !loop.contains(instruction) || !seen.insert(value).second) return false;
  if (Observes(*instruction)) return true;
  return llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) { return DependsOnObservation(loop, operand.get(), seen); });
}

bool Waits(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const Intrinsic kind = ClassifyCall(*call).kind;
      if (kind == Intrinsic::kBarrier || kind == Intrinsic::kYield || kind == Intrinsic::kGridBarrier) return false;
    }
  }
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  for (const llvm::BasicBlock* block : exiting) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    llvm::DenseSet<const llvm::Value*> seen;
    if (branch != nullptr && branch->isConditional() && DependsOnObservation(loop, branch->getCondition(), seen)) return true;
  }
  return false;
}

}  // namespace

llvm::DenseSet<const llvm::BasicBlock*> FindSpinLatches(const llvm::LoopInfo& loops) {
  llvm::DenseSet<const llvm::BasicBlock*> latches;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->getLoopLatch() != nullptr && Waits(*loop)) latches.insert(loop->getLoopLatch());
  }
  return latches;
}

}  // namespace tutti::compiler
