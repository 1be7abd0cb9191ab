// What lowering writes for .ftz (lower/flushes.h), in the instructions of AVX-512.
//
// Code generation makes four instructions of "0 with x's sign where |x| < 2^-126, else x". VFPCLASSPS finds subnormal
// numbers, so that two suffice. VDPBF16PS does it alone, where there is one: it adds two products of bf16 to a float,
// takes subnormal floats for zero and makes none, whatever MXCSR says, and x - 0 is x, of either sign.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

struct FlushInstructionsPass : llvm::PassInfoMixin<FlushInstructionsPass> {
  explicit FlushInstructionsPass(bool has_bf16) : has_bf16(has_bf16) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  bool has_bf16;  // AVX512_BF16
};

}  // namespace tutti::compiler
