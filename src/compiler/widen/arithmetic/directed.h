// Arithmetic with a rounding of its own: tutti.fn.fma.rz.f32 and its like (runtime/functions.def).
//
// An instruction of AVX-512 may carry its rounding, so what the guest runtime does between two writes of MXCSR, or by
// the errors of sums, is one instruction for 16 lanes, or two.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

// tutti.fn.<name>. False if the target has no instruction for it: the guest runtime's function is called.
bool EmitDirected(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef name);

}  // namespace tutti::compiler
