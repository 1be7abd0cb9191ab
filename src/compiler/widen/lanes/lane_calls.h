// Calls of what runs lane after lane (lane_functions.h).
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

// Runs the called function for one active lane after the other, in place, with its accesses checked.
void EmitLaneCall(FunctionEmitter& emitter, const llvm::CallInst& call);

}  // namespace tutti::compiler
