// Removes the initial zeroes of registers that nothing reads.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// Every register is zeroed at the kernel's start, so that one that is read too early has a defined value (finish.h says
// what an undefined one could do). For most registers no read can come that early, but the store still costs: it is a
// second block in which the register is used, so mem2reg scans the others from their start: n^2 steps in a block of n
// instructions. The store is removed where another one precedes every load.
struct FirstZeroesPass : llvm::PassInfoMixin<FirstZeroesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler::lowering
