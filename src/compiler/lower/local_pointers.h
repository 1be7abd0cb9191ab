// Turns pointers into .local variables, which PTX makes by integer arithmetic, into GEPs of the variable's alloca: the
// form in which SROA can split a variable and widening can tell which it is.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// inttoptr(ptrtoint A + x), in any association and with constants, becomes getelementptr i8, A, x; so does a pointer
// that a loop moves along, or that a branch chose.
struct LocalPointersPass : llvm::PassInfoMixin<LocalPointersPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tutti::compiler::lowering
