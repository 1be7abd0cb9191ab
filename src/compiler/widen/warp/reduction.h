// Reductions and scans over the lanes of a warp.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

// By an associative operation. `lanes` (<32 x i1>): which take part; null: the active lanes.
llvm::Value* Reduce(FunctionEmitter& emitter, llvm::AtomicRMWInst::BinOp operation, llvm::Value* values,
                    llvm::Value* lanes = nullptr);
// Element l is the sum of elements 0 .. l.
llvm::Value* PrefixSum(FunctionEmitter& emitter, llvm::Value* values);

}  // namespace tutti::compiler
