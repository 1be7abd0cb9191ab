// The zeroes that registers begin with, where nobody reads them.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// Every register is stored zero at the kernel's begin, so that one which is read too early has a value (finish.h says
// what an undefined one could do). Of nearly all registers no read can come that early, and then that store is dear: it
// makes a second block in which the register is used, for which mem2reg searches the others from their begin. In a
// block of n instructions that is n^2 steps. So it is removed where a real store comes before every load.
struct FirstZeroesPass : llvm::PassInfoMixin<FirstZeroesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler::lowering
