#include "compiler/threads/together.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include "compiler/threads/cuts.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

constexpr unsigned kLoads = 1, kStores = 2, kAtomics = 4;

// What another lane of the warp may see of it.
unsigned SeenOf(const Instruction& instruction) {
  constexpr unsigned kGeneric = 0, kShared = 3;
  const llvm::Value* pointer = nullptr;
  unsigned what = 0;
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    pointer = atomic->getPointerOperand();
    what = kAtomics;
  } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    pointer = exchange->getPointerOperand();
    what = kAtomics;
  } else if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) {
    pointer = llvm::getLoadStorePointerOperand(&instruction);
    what = llvm::isa<llvm::LoadInst>(instruction) ? kLoads : kStores;
    if (instruction.isVolatile()) return what;
  } else {
    return 0;
  }
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space == kShared) return what;
  return space == kGeneric && !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)) ? what : 0;
}

bool IsCallOf(const Instruction& instruction, Intrinsic kind) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && ClassifyCall(*call).kind == kind;
}

// Adds the instructions in front of which to stop, if lanes may have done `seen` since the last stop; returns what they
// have done at the end.
unsigned Pass(BasicBlock& block, unsigned seen, llvm::SmallVectorImpl<Instruction*>* found) {
  for (Instruction& instruction : block) {
    if (IsStop(instruction)) {
      seen = 0;
      continue;
    }
    if (IsCallOf(instruction, Intrinsic::kPrint)) {
      if (found != nullptr) found->push_back(&instruction);
      seen = 0;
      continue;
    }
    const unsigned now = SeenOf(instruction);
    if (now != 0 && (seen & ~now) != 0) {
      if (found != nullptr) found->push_back(&instruction);
      seen = 0;
    }
    seen |= now;
  }
  return seen;
}

// Lanes that come by none of a loop's stops in a round, or by fewer, would run rounds ahead of the others: their places
// lie further in front then. So all keep together at the end of each round. Lanes that wait yield there.
void KeepRoundsTogether(llvm::Function& kernel, llvm::SmallVectorImpl<Instruction*>& found) {
  const llvm::DominatorTree dominators(kernel);
  const llvm::LoopInfo loops(dominators);
  llvm::DenseSet<const BasicBlock*> stops;
  for (const Instruction* instruction : found) stops.insert(instruction->getParent());
  for (const BasicBlock& block : kernel) {
    const auto asks = [](const Instruction& each) { return IsCallOf(each, Intrinsic::kActivemask); };
    if (llvm::any_of(block, asks)) stops.insert(&block);
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    BasicBlock* const latch = loop->getLoopLatch();
    if (latch == nullptr || IsSpinLoop(loops, *loop)) continue;
    const bool parts = llvm::any_of(loop->blocks(), [&](const BasicBlock* block) {
      return stops.contains(block) && (loops.getLoopFor(block) != loop || !dominators.dominates(block, latch));
    });
    if (parts) found.push_back(latch->getTerminator());
  }
}

}  // namespace

llvm::SmallVector<Instruction*, 16> FindTogether(llvm::Function& kernel) {
  // By union over the ways into a block; they only grow, so this ends.
  llvm::DenseMap<const BasicBlock*, unsigned> into;
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&kernel);
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock* block : order) {
      const unsigned seen = Pass(*block, into[block], nullptr);
      for (const BasicBlock* next : llvm::successors(block)) {
        unsigned& there = into[next];
        changed |= (there | seen) != there;
        there |= seen;
      }
    }
  }
  llvm::SmallVector<Instruction*, 16> found;
  for (BasicBlock* block : order) Pass(*block, into[block], &found);
  KeepRoundsTogether(kernel, found);
  return found;
}

}  // namespace tutti::compiler
