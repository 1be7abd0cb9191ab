#include "compiler/widen/analysis/path_facts.h"

#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

namespace tutti::compiler {

PathFacts::Loops::Loops(llvm::Function& scalar, llvm::DominatorTree& tree)
    : functions(llvm::Triple(scalar.getParent()->getTargetTriple())),
      library(functions, &scalar),
      assumptions(scalar),
      loops(tree),
      evolution(scalar, library, assumptions, tree, loops) {}

llvm::DominatorTree& PathFacts::Tree() {
  if (tree_) return *tree_;
  tree_.emplace(scalar_);
  for (llvm::BasicBlock& block : scalar_) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch != nullptr && branch->isConditional()) conditions_.registerBranch(branch);
  }
  return *tree_;
}

llvm::ScalarEvolution& PathFacts::Evolution() {
  if (loops_ == nullptr) loops_ = std::make_unique<Loops>(scalar_, Tree());
  return loops_->evolution;
}

bool PathFacts::IsAtMost(const llvm::Value* value, uint64_t most, const llvm::Instruction& at) {
  if (BitsAt(value, at).getMaxValue().ule(most)) return true;
  auto* looked_at = const_cast<llvm::Value*>(value);  // which ScalarEvolution changes as little as we do
  return Evolution().getUnsignedRangeMax(Evolution().getSCEV(looked_at)).ule(most);
}

uint64_t PathFacts::GreatestDistance(const llvm::Value& pointer, const llvm::AllocaInst& from) {
  llvm::ScalarEvolution& evolution = Evolution();
  const llvm::SCEV* distance = evolution.getMinusSCEV(evolution.getSCEV(const_cast<llvm::Value*>(&pointer)),
                                                      evolution.getSCEV(const_cast<llvm::AllocaInst*>(&from)));
  if (llvm::isa<llvm::SCEVCouldNotCompute>(distance)) return ~uint64_t{0};
  return evolution.getUnsignedRangeMax(distance).getLimitedValue();
}

llvm::KnownBits PathFacts::BitsAt(const llvm::Value* value, const llvm::Instruction& at) {
  const llvm::SimplifyQuery query(scalar_.getDataLayout(), nullptr, &Tree(), nullptr, &at, /*UseInstrInfo=*/true,
                                  /*CanUseUndef=*/false, &conditions_);
  return llvm::computeKnownBits(value, 0, query);
}

}  // namespace tutti::compiler
