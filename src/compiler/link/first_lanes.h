// Accesses of the first 1, 2, 4, 8 or 16 lanes of a warp, as the last steps of a sum over a block make them, as plain
// loads and stores of so many elements. The lanes are known once warps are unrolled. What one such step stores the next
// one loads: a processor hands that on from its queue of stores, but not what was stored under a mask, nor what a mask
// loads.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

struct FirstLanesPass : llvm::PassInfoMixin<FirstLanesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
