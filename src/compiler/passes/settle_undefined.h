// What optimisation leaves undefined.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

// Replaces undef and poison operands by zero. An undefined value may differ from use to use, so an address could pass
// the check of its range with one value and be accessed with another.
struct SettleUndefinedPass : llvm::PassInfoMixin<SettleUndefinedPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
