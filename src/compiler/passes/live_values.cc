#include "compiler/passes/live_values.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include <vector>

namespace tutti::compiler {
namespace {

// Backward data flow, one bit per value that is live out of its block.
class Liveness {
 public:
  explicit Liveness(llvm::Function& function) : function_(function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.getType()->isVoidTy() && !llvm::isa<llvm::AllocaInst>(instruction) &&
          LeavesItsBlock(instruction)) {
        index_[&instruction] = static_cast<unsigned>(values_.size());
        values_.push_back(&instruction);
      }
    }
    Gather();
    Solve();
  }

  llvm::SmallVector<llvm::Instruction*, 16> Into(llvm::BasicBlock* block) const {
    llvm::SmallVector<llvm::Instruction*, 16> live;
    for (const unsigned i : sets_.find(block)->second.in.set_bits()) live.push_back(values_[i]);
    return live;
  }

 private:
  struct Sets {
    llvm::BitVector in, uses, definitions;
    llvm::BitVector at_end;  // what phis of the successors take from here
  };

  static bool LeavesItsBlock(const llvm::Instruction& instruction) {
    for (const llvm::User* user : instruction.users()) {
      const auto* other = llvm::cast<llvm::Instruction>(user);
      if (other->getParent() != instruction.getParent() || llvm::isa<llvm::PHINode>(other)) return true;
    }
    return false;
  }

  void Gather() {
    const auto count = static_cast<unsigned>(values_.size());
    for (llvm::BasicBlock& block : function_) {
      Sets& sets = sets_[&block];
      for (llvm::BitVector* bits : {&sets.in, &sets.uses, &sets.definitions, &sets.at_end}) bits->resize(count);
    }
    for (unsigned i = 0; i < count; ++i) {
      llvm::Instruction* value = values_[i];
      sets_[value->getParent()].definitions.set(i);
      for (const llvm::Use& use : value->uses()) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) {
          sets_[phi->getIncomingBlock(use)].at_end.set(i);
        } else if (user->getParent() != value->getParent()) {
          sets_[const_cast<llvm::BasicBlock*>(user->getParent())].uses.set(i);
        }
      }
    }
  }

  void Solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock* block : llvm::post_order(&function_)) {
        Sets& sets = sets_[block];
        llvm::BitVector live = sets.at_end;
        for (llvm::BasicBlock* successor : llvm::successors(block)) live |= sets_[successor].in;
        live.reset(sets.definitions);
        live |= sets.uses;
        if (live == sets.in) continue;
        sets.in = std::move(live);
        changed = true;
      }
    }
  }

  llvm::Function& function_;
  std::vector<llvm::Instruction*> values_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> index_;
  mutable llvm::DenseMap<const llvm::BasicBlock*, Sets> sets_;
};

}  // namespace

llvm::DenseMap<llvm::BasicBlock*, llvm::SmallVector<llvm::Instruction*, 16>> LiveInto(
    llvm::Function& function, llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  const Liveness liveness(function);
  llvm::DenseMap<llvm::BasicBlock*, llvm::SmallVector<llvm::Instruction*, 16>> live;
  for (llvm::BasicBlock* block : blocks) live[block] = liveness.Into(block);
  return live;
}

}  // namespace tutti::compiler
