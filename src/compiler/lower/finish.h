// The last steps before widening.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// Pointer arithmetic outside of .local variables as integer arithmetic, inttoptr(address + offset): the one form of
// address that widening analyses.
struct IntegerAddressesPass : llvm::PassInfoMixin<IntegerAddressesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Replaces undef and poison operands by zero. An undefined value may differ from use to use, so an address could pass
// the check of its range with one value and be accessed with another.
struct SettleUndefinedPass : llvm::PassInfoMixin<SettleUndefinedPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Debug locations, in which optimisation keeps the PTX lines, as the !tutti.loc of the contract; then drops them and
// !tutti.lines.
void AttachLocations(llvm::Module& module);

}  // namespace tutti::compiler::lowering
