// Pointers into .local variables, which PTX makes by integer arithmetic, as GEPs of the variable's alloca: the form in
// which SROA can take a variable apart and widening can see whose it is.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// inttoptr(ptrtoint A + x), in any association and with constants, becomes getelementptr i8, A, x.
struct LocalPointersPass : llvm::PassInfoMixin<LocalPointersPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tutti::compiler::lowering
