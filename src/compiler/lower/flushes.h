// .ftz: subnormal operands and results count as zero.
//
// nvcc -use_fast_math writes .ftz at every f32 instruction, so that most of what is flushed was flushed before. Lowering
// therefore marks what is to be flushed, and when the other optimisations are over a mark becomes code only where its
// value may be subnormal.
#pragma once

#include <llvm/IR/PassManager.h>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

// x, marked; a constant is flushed at once.
llvm::Value* MarkFlush(llvm::IRBuilder<>& ir, llvm::Value* x);

// Makes code of the marks.
struct FlushesPass : llvm::PassInfoMixin<FlushesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// The same for a module that is not optimised.
void SettleFlushes(llvm::Module& module);

}  // namespace tutti::compiler::lowering
