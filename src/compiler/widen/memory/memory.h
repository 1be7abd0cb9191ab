// Loads and stores, by the shape of their addresses.
//
//   uniform, or one address per run   a scalar access each; the value has the same shape
//   pieces of consecutive elements    a masked vector access per piece (the whole warp, or rows of 16 or 8 lanes)
//   a few elements apart              loads: all that lies between the lanes, as vectors (stretches.h)
//   8 or 16 bytes of each lane,       a move of each lane's components
//     at constant distances
//   anything else                     gather and scatter, of as many components at once as are 8 bytes
//
// A volatile vector of up to 16 bytes is one move per lane, whatever the shape: the other forms split it, and other
// threads could see a half of it.
//
// All but the last hold only if the shape's assumption does, and if the whole range they touch is inside the client's
// memory; otherwise the access is made lane by lane, checking each (address_check.h). Inactive lanes never write.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

void EmitLoad(FunctionEmitter& emitter, const llvm::LoadInst& load);
void EmitStore(FunctionEmitter& emitter, const llvm::StoreInst& store);

}  // namespace tutti::compiler
