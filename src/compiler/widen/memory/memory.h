// Loads and stores, by the shape of their addresses.
//
//   uniform, or one address per run   a scalar access each; the value has the same shape
//   pieces of consecutive elements    a masked vector access per piece (the whole warp, or rows of 16 or 8 lanes)
//   anything else                     gather and scatter
//
// A volatile vector of up to 16 bytes is one move per lane, in whatever shape: the other forms take it apart, and
// others could see a half of it.
//
// All but the last hold only if what the shape assumes does, and if the whole range they touch is inside the memory
// that the client owns; else the access is made lane by lane, checking each (address_check.h). Only active lanes ever
// touch memory.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

void EmitLoad(FunctionEmitter& emitter, const llvm::LoadInst& load);
void EmitStore(FunctionEmitter& emitter, const llvm::StoreInst& store);

}  // namespace tutti::compiler
