// shfl.sync: each lane reads a register of another lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace tutti::compiler {

class FunctionEmitter;

// tutti.shfl.<suffix>: {value, i1 in range}. A constant distance becomes a constant shuffle.
void EmitShuffle(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef suffix);

// 0, 1, ..., 31 as <32 x i32>.
llvm::Constant* LaneNumbers(llvm::IRBuilder<>& builder);

}  // namespace tutti::compiler
