// A thread's loads, stores and atomic operations: each checked by itself, with one comparison if it is where it most
// likely is, else by the guest runtime (compiler/runtime/legal_access.h).
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class ThreadEmitter;

bool IsAccess(const llvm::Instruction& instruction);

// Changes the access to one of a host address that is checked in front of it. Splits its block.
void EmitThreadAccess(ThreadEmitter& emitter, llvm::Instruction& access);

}  // namespace tutti::compiler
