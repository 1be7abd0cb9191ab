#include "compiler/widen/spin_loops.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/intrinsics.h"

namespace tutti::compiler {
namespace {

// The value shows what others wrote, without itself making progress: a counter taken from a queue does not wait, nor does
// a loop that tries again with the value it was shown (atomicMax of floats and its like).
bool Observes(const llvm::Loop& loop, const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !load->isSimple();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return loop.isLoopInvariant(exchange->getCompareOperand());
  const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (atomic == nullptr) return false;
  using Op = llvm::AtomicRMWInst::BinOp;
  if (atomic->getOperation() == Op::Xchg) return loop.isLoopInvariant(atomic->getValOperand());
  const auto* operand = llvm::dyn_cast<llvm::ConstantInt>(atomic->getValOperand());
  const bool reads = atomic->getOperation() == Op::Add || atomic->getOperation() == Op::Or || atomic->getOperation() == Op::Sub;
  return operand != nullptr && operand->isZero() && reads;
}

bool DependsOnObservation(const llvm::Loop& loop, const llvm::Value* value, llvm::DenseSet<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !loop.contains(instruction) || !seen.insert(value).second) return false;
  if (Observes(loop, *instruction)) return true;
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

void MarkSpinLoops(llvm::Function& function, const llvm::LoopInfo& loops) {
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->getLoopLatch() == nullptr || !Waits(*loop)) continue;
    llvm::LLVMContext& context = function.getContext();
    llvm::FunctionCallee yield = function.getParent()->getOrInsertFunction("tutti.yield", llvm::FunctionType::get(llvm::Type::getVoidTy(context), false));
    llvm::CallInst::Create(yield, "", loop->getLoopLatch()->getTerminator()->getIterator());
  }
}

bool IsSpinLoop(const llvm::LoopInfo& loops, const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    if (loops.getLoopFor(block) != &loop) continue;
    for (const llvm::Instruction& instruction : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && ClassifyCall(*call).kind == Intrinsic::kYield) return true;
    }
  }
  return false;
}

}  // namespace tutti::compiler
