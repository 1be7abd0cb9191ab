// Gathers and scatters: one element per active lane. The addresses have been checked.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/memory/indexed.h"

namespace tutti::compiler {

class FunctionEmitter;

// The processor can gather (or scatter, if it `writes`) this type by a base and 32-bit indices.
bool CanIndex(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address, bool writes);

// <32 x element> from addresses, all `offset` bytes on; inactive lanes are undefined. Elements of 8 and 16 bits lie at
// multiples of their size, unless `aligned` is false.
llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address, uint64_t offset);
llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses, bool aligned);
void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, const IndexedAddress& address, uint64_t offset);
// Where lanes write one address the highest wins.
void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses);

}  // namespace tutti::compiler
