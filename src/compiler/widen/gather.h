// Accesses whose addresses have no structure: one element per active lane. Addresses have been checked.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace tutti::compiler {

class FunctionEmitter;

// <32 x element> from <32 x i64> addresses; inactive lanes get anything.
llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses);
// Where lanes write one address the highest wins.
void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses);

}  // namespace tutti::compiler
