// Accesses whose addresses have no structure: one element per active lane. Addresses have been checked.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/memory/indexed.h"

namespace tutti::compiler {

class FunctionEmitter;

// The processor gathers this type by base and 32-bit index.
bool CanIndex(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address);
// Pointers of the lanes, in the form that is recognised as base and index.
llvm::Value* IndexedPointers(FunctionEmitter& emitter, const IndexedAddress& address, uint64_t offset);
llvm::Value* EmitGatherFrom(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* pointers);
void EmitScatterTo(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* pointers);

// <32 x element> from <32 x i64> addresses; inactive lanes get anything.
llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses);
// Where lanes write one address the highest wins.
void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses);

}  // namespace tutti::compiler
