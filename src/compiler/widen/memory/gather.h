// Gathers and scatters: one element per active lane. The addresses have been checked.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/memory/indexed.h"

namespace tutti::compiler {

class FunctionEmitter;

// The processor can gather this type by a base and 32-bit indices.
bool CanIndex(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address);
// The lanes' pointers, in the form that the backend recognises as base and index.
llvm::Value* IndexedPointers(FunctionEmitter& emitter, const IndexedAddress& address, uint64_t offset);
llvm::Value* EmitGatherFrom(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* pointers);
void EmitScatterTo(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* pointers);

// <32 x element> from <32 x i64> addresses; inactive lanes are undefined.
llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses);
// Where lanes write one address the highest wins.
void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses);

}  // namespace tutti::compiler
