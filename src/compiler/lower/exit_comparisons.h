// Comparisons behind a loop that the way out of the loop answers.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// `for (i = 0; i < n && p(i); ++i) {} if (i == n) ...` is how a search asks whether it has found anything. Lanes leave
// such a loop in different rounds, so widened, i is a vector behind it, which each round blends, only to be compared.
// But i == n is false where the search broke off, and true where the loop came to its end. So the comparison becomes a
// phi of constants, which CleanUpBranches makes two ways out of the loop.
struct ExitComparisonsPass : llvm::PassInfoMixin<ExitComparisonsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler::lowering
