#include "compiler/widen/analysis/path_facts.h"

#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

llvm::KnownBits PathFacts::BitsAt(const llvm::Value* value, const llvm::Instruction& at) {
  if (!tree_) {
    tree_.emplace(scalar_);
    for (llvm::BasicBlock& block : scalar_) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
      if (branch != nullptr && branch->isConditional()) conditions_.registerBranch(branch);
    }
  }
  const llvm::SimplifyQuery query(scalar_.getDataLayout(), nullptr, &*tree_, nullptr, &at, /*UseInstrInfo=*/true,
                                  /*CanUseUndef=*/false, &conditions_);
  return llvm::computeKnownBits(value, 0, query);
}

}  // namespace tutti::compiler
