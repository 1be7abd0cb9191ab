#include "compiler/widen/divergence/spin_loops.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;
using Op = llvm::AtomicRMWInst::BinOp;

const llvm::BranchInst* ConditionalBranch(const BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr && branch->isConditional() ? branch : nullptr;
}

const Value* AtomicAddress(const Instruction& instruction) {
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return atomic->getPointerOperand();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return exchange->getPointerOperand();
  return nullptr;
}

// Another atomic of the loop undoes this one: a lock taken by addition and released by subtraction.
bool IsTakenBack(const Loop& loop, const llvm::AtomicRMWInst& atomic) {
  for (const BasicBlock* block : loop.blocks()) {
    for (const Instruction& other : *block) {
      if (&other != &atomic && AtomicAddress(other) == atomic.getPointerOperand()) return true;
    }
  }
  return false;
}

// The value shows what others wrote without being progress itself: a counter taken from a queue does not wait, nor does
// a loop that retries with the value it was shown (atomicMax of floats and the like).
bool Observes(const Loop& loop, const Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !load->isSimple();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return loop.isLoopInvariant(exchange->getCompareOperand());
  const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (atomic == nullptr) return false;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(atomic->getValOperand());
  switch (atomic->getOperation()) {
    case Op::Xchg:
    case Op::Or:
    case Op::And:
    case Op::Max:
    case Op::Min:
    case Op::UMax:
    case Op::UMin: return loop.isLoopInvariant(atomic->getValOperand());
    case Op::Add:
    case Op::Sub:
    case Op::Xor: return (constant != nullptr && constant->isZero()) || IsTakenBack(loop, *atomic);
    default: return false;
  }
}

class WaitFinder {
 public:
  WaitFinder(const Loop& loop, const llvm::DominatorTree& dominators, const llvm::PostDominatorTree& post_dominators)
      : loop_(loop), dominators_(dominators), post_dominators_(post_dominators) {}

  bool Waits() {
    llvm::SmallVector<BasicBlock*, 4> exiting;
    loop_.getExitingBlocks(exiting);
    bool all_chosen = !exiting.empty();
    for (const BasicBlock* block : exiting) {
      const auto* branch = ConditionalBranch(*block);
      if (branch == nullptr) return false;
      if (IsObserved(branch->getCondition()) || Rereads(branch->getCondition())) return true;
      all_chosen &= IsChosen(*block);
    }
    return all_chosen;
  }

 private:
  bool IsObserved(const Value* value) {
    seen_.clear();  // after a hit it no longer tells what depends on what
    return Depends(value);
  }

  bool Depends(const Value* value) {
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop_.contains(instruction) || !seen_.insert(value).second) return false;
    if (Observes(loop_, *instruction)) return true;
    if (llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) { return Depends(operand.get()); }))
      return true;
    return llvm::isa<llvm::PHINode>(instruction) && instruction->getParent() != loop_.getHeader() &&
           IsSelected(*instruction->getParent());
  }

  // Which predecessor enters the block depends on an observation.
  bool IsSelected(const BasicBlock& block) {
    const auto* node = dominators_.getNode(&block);
    if (node == nullptr || node->getIDom() == nullptr) return false;
    const BasicBlock* above = node->getIDom()->getBlock();
    return llvm::any_of(loop_.blocks(), [&](const BasicBlock* other) {
      const auto* branch = ConditionalBranch(*other);
      return branch != nullptr && dominators_.dominates(above, other) && !dominators_.dominates(&block, other) &&
             Depends(branch->getCondition());
    });
  }

  // Whether the block runs in an iteration depends on an observation.
  bool IsChosen(const BasicBlock& block) {
    return llvm::any_of(loop_.blocks(), [&](const BasicBlock* other) {
      const auto* branch = ConditionalBranch(*other);
      if (branch == nullptr || other == &block || !dominators_.dominates(other, &block)) return false;
      // Another exit decides by itself, where the loop goes on, whether `block` is left.
      if (!llvm::all_of(llvm::successors(other), [&](const BasicBlock* to) { return loop_.contains(to); }))
        return false;
      return !post_dominators_.dominates(&block, other) && IsObserved(branch->getCondition());
    });
  }

  // All that changes in the condition is what plain loads find at loop-invariant addresses.
  bool Rereads(const Value* condition) const {
    bool loads = false;
    llvm::SmallVector<const Value*, 8> work{condition};
    while (!work.empty()) {
      const auto* instruction = llvm::dyn_cast<Instruction>(work.pop_back_val());
      if (instruction == nullptr || !loop_.contains(instruction)) continue;
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
        if (!loop_.isLoopInvariant(load->getPointerOperand())) return false;
        loads = true;
        continue;
      }
      if (llvm::isa<llvm::PHINode, llvm::CallInst>(instruction) || instruction->mayReadOrWriteMemory()) return false;
      for (const llvm::Use& operand : instruction->operands()) work.push_back(operand.get());
    }
    return loads;
  }

  const Loop& loop_;
  const llvm::DominatorTree& dominators_;
  const llvm::PostDominatorTree& post_dominators_;
  llvm::DenseSet<const Value*> seen_;
};

// In each round: where only some lanes sleep, the others wait as well.
bool LetsOthersRun(const Loop& loop, const llvm::DominatorTree& dominators) {
  for (const BasicBlock* block : loop.blocks()) {
    if (!dominators.dominates(block, loop.getLoopLatch())) continue;
    for (const Instruction& instruction : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const Intrinsic kind = ClassifyCall(*call).kind;
      if (IsBarrier(kind) || kind == Intrinsic::kYield) return true;
    }
  }
  return false;
}

}  // namespace

void MarkSpinLoops(llvm::Function& function, const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators,
                   const llvm::PostDominatorTree& post_dominators) {
  struct WayRound {
    BasicBlock *latch, *header;
  };
  llvm::SmallVector<WayRound, 4> ways;
  for (const Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->getLoopLatch() == nullptr || LetsOthersRun(*loop, dominators) ||
        !WaitFinder(*loop, dominators, post_dominators).Waits())
      continue;
    ways.push_back({loop->getLoopLatch(), loop->getHeader()});
  }
  if (ways.empty()) return;
  llvm::LLVMContext& context = function.getContext();
  llvm::FunctionCallee yield = function.getParent()->getOrInsertFunction(
      IntrinsicName("tutti.yield").get(), llvm::FunctionType::get(llvm::Type::getVoidTy(context), false));
  for (const auto& [latch, header] : ways) {
    // A latch that may leave the loop has just looked. A yield there would come between looking and acting.
    BasicBlock* const way = latch->getSingleSuccessor() == nullptr ? llvm::SplitEdge(latch, header) : latch;
    llvm::CallInst::Create(yield, "", way->getTerminator()->getIterator());
  }
}

bool LeavesByWhatOthersWrite(const Loop& loop, const llvm::DominatorTree& dominators,
                             const llvm::PostDominatorTree& post_dominators) {
  return WaitFinder(loop, dominators, post_dominators).Waits();
}

bool IsSpinLoop(const llvm::LoopInfo& loops, const Loop& loop) {
  for (const BasicBlock* block : loop.blocks()) {
    if (loops.getLoopFor(block) != &loop) continue;
    for (const Instruction& instruction : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && ClassifyCall(*call).kind == Intrinsic::kYield) return true;
    }
  }
  return false;
}

std::vector<BasicBlock*> SpinLoopHeaders(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  std::vector<BasicBlock*> headers;
  for (const Loop* loop : loops.getLoopsInPreorder()) {
    if (IsSpinLoop(loops, *loop)) headers.push_back(loop->getHeader());
  }
  return headers;
}

unsigned CountAttempts(const Loop& loop) {
  unsigned count = 0;
  for (const BasicBlock* block : loop.blocks()) {
    count += static_cast<unsigned>(llvm::count_if(*block, [&](const Instruction& instruction) {
      return AtomicAddress(instruction) != nullptr && !instruction.use_empty() && Observes(loop, instruction);
    }));
  }
  return count;
}

bool MayWaitUnseen(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    if (function.isDeclaration()) return false;
    const llvm::DominatorTree dominators(const_cast<llvm::Function&>(function));  // nothing is changed
    const llvm::LoopInfo loops(dominators);
    const bool is_kernel = function.getName() == "tutti.kernel";  // others may be called in loops
    return llvm::any_of(llvm::instructions(function), [&](const Instruction& instruction) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      const bool shows_others = AtomicAddress(instruction) != nullptr || (load != nullptr && !load->isSimple());
      return shows_others && !instruction.use_empty() &&
             (!is_kernel || loops.getLoopFor(instruction.getParent()) != nullptr);
    });
  });
}

bool MaySpin(const llvm::Function& function) {
  // LLVM's type for both kinds of functions; nothing is changed.
  const llvm::DominatorTree dominators(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(dominators);
  return llvm::any_of(function, [&](const BasicBlock& block) {
    const Loop* loop = loops.getLoopFor(&block);
    if (loop == nullptr) return false;
    return llvm::any_of(block, [&](const Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      return call != nullptr ? ClassifyCall(*call).kind == Intrinsic::kYield
                             : !instruction.use_empty() && Observes(*loop, instruction);
    });
  });
}

}  // namespace tutti::compiler
