// The last steps before widening.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// Calls tutti.yield() on the back-edges of loops that wait for memory that another warp writes: loops whose exit depends on
// a volatile or atomic load, or on an attempt to take a lock. Without it such a warp would keep the others of its block
// from running, for ever.
struct SpinYieldPass : llvm::PassInfoMixin<SpinYieldPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Replaces undef and poison operands by zero. An undefined value may differ from use to use, so an address could pass the
// check of its range with one value and be accessed with another.
struct SettleUndefinedPass : llvm::PassInfoMixin<SettleUndefinedPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Debug locations, in which optimisation keeps the PTX lines, as the !tutti.loc of the contract; then drops them and
// !tutti.lines.
void AttachLocations(llvm::Module& module);

}  // namespace tutti::compiler::lowering
