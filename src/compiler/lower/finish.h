// The last steps before widening.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// Turns pointer arithmetic outside of .local variables into integer arithmetic, inttoptr(address + offset): the one
// form of address that widening analyses.
struct IntegerAddressesPass : llvm::PassInfoMixin<IntegerAddressesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Turns debug locations, in which optimisation preserves the PTX lines, into the contract's !tutti.loc; then drops them
// and !tutti.lines.
void AttachLocations(llvm::Module& module);

}  // namespace tutti::compiler::lowering
