// .ftz: subnormal operands and results count as zero.
//
// nvcc -use_fast_math writes .ftz at every f32 instruction, so that most of what is flushed was flushed before.
// Lowering therefore marks what is to be flushed, and when the other optimisations are over a mark becomes code only
// where its value may be subnormal.
#pragma once

#include <llvm/IR/PassManager.h>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

// x, marked; a constant is flushed at once.
llvm::Value* MarkFlush(llvm::IRBuilder<>& ir, llvm::Value* x);

// Removes the marks that are not needed, which other optimisations cannot see through; the last time it makes code of
// the others.
struct FlushesPass : llvm::PassInfoMixin<FlushesPass> {
  enum class Time { kBetween, kLast };
  explicit FlushesPass(Time time) : time(time) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  Time time;
};

// The same for a module that is not optimised.
void SettleFlushes(llvm::Module& module);

}  // namespace tutti::compiler::lowering
