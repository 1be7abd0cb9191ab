// Moves computations that only rare paths need into those paths.
//
// Widening puts a fast and a rare path behind most memory accesses: the rare one (addresses that are not where they
// most likely are) computes 32 addresses and checks each. Those are loop-invariant as often as not, so hoisting takes
// them out of the loop, where every launch pays for them and their vectors push everything else out of the registers.
// This pass undoes that: an instruction whose users are all in rare blocks is copied into each of these and removed.
//
// A block is rare if the branch to it says so (branch weights of 64 : 1 or more) or a rare block dominates it.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

class SinkRarePass : public llvm::PassInfoMixin<SinkRarePass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
