// 32-bit indices that look like 64-bit arithmetic.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

// An address or index of 32 bits that was computed with 64 is cut by an AND, as InstCombine writes it, and so does LLVM
// where it makes PTX of a loop over p[i + j]. Makes it zext(trunc(x)) again, which is how widening knows that
// neighbours stay neighbours (widen/analysis/shape.h). To be run behind each InstCombine whose result is widened.
struct NarrowAddressesPass : llvm::PassInfoMixin<NarrowAddressesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
