// Sinks computations that only cold paths need into those paths.
//
// Widening emits a fast and a cold path for most memory accesses: the cold one (addresses that are not where they most
// likely are) computes 32 addresses and checks each. These are often loop-invariant, so LICM hoists them out of the
// loop, where every launch pays for them and their vectors raise register pressure. This pass undoes that: an
// instruction whose users are all in cold blocks is copied into each of these and removed.
//
// A block is cold ("rare" in names here) if the branch to it says so (branch weights of 64 : 1 or more) or a cold block
// dominates it.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class BranchInst;
}

namespace tutti::compiler {

// The branch says that this successor of its two is cold.
bool IsRareEdge(const llvm::BranchInst& branch, unsigned successor);

class SinkRarePass : public llvm::PassInfoMixin<SinkRarePass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
