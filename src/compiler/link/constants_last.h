// Sums of addresses with their constants outside: w + (x | 4) and w + (x | 8), as LLVM writes w + x + 4 where it knows
// the low bits of x, become (w + x) + 4 and (w + x) + 8. Then they are one value and two distances, which cost nothing
// in the accesses: otherwise each is a value of its own, to keep in a register, or in the frame across a barrier.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

// Of scalars of 64 bits. Leaves equal sums for GVN to merge.
struct ConstantsLastPass : llvm::PassInfoMixin<ConstantsLastPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tutti::compiler
