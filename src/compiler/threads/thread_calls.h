// A thread's calls of tutti.* functions at which it does not stop: where it is, and what the device does for it.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class ThreadEmitter;

// Replaces the call, unless it is one of a function of LLVM's.
void EmitThreadCall(ThreadEmitter& emitter, llvm::CallInst& call);

}  // namespace tutti::compiler
