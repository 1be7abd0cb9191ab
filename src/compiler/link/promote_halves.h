// Arithmetic on vectors of half, for processors that have none.
//
// LLVM's passes narrow what programs compute in float: trunc(fpext h) becomes fpext(trunc h), a comparison of two
// widened halves one of halves. Its code generator for x86 then splits such vectors into lanes, each with a call. This
// pass widens them again, after the last pass that narrows.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

struct PromoteHalvesPass : llvm::PassInfoMixin<PromoteHalvesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tutti::compiler
