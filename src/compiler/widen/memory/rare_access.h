// The cold way of an access whose lanes are not where they most likely are: calls of the guest runtime
// (runtime/rare_access.cc), which check and access each lane by itself. A call with a base and a table of distances is
// a few instructions; a warp's access in place, with its vectors of addresses and their comparison, is some fifty.
// Stores by a part of a warp are here, too, for processors that cannot mask them well.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace tutti::compiler {

class AddressCheck;
class FunctionEmitter;
struct Region;
struct Row;

// Checks `bytes` at each active lane's `pointer`, for an access that is then made in another way.
void EmitRareCheck(FunctionEmitter& emitter, const llvm::Value* pointer, const Region& region,
                   const AddressCheck& check, uint64_t bytes);

// Of accesses that are checked. `count` elements next to each other at each active lane's `pointer`, each
// <32 x element>.
llvm::SmallVector<llvm::Value*, 4> EmitRareLoad(FunctionEmitter& emitter, const llvm::Value* pointer,
                                                const Region& region, const AddressCheck& check, llvm::Type* element,
                                                unsigned count);
void EmitRareStore(FunctionEmitter& emitter, const llvm::Value* pointer, const Region& region,
                   const AddressCheck& check, llvm::ArrayRef<llvm::Value*> values);

// Of a row: each member is checked at its own place, in the program's order. What no member loads is poison.
llvm::SmallVector<llvm::Value*, 4> EmitRareRowLoad(FunctionEmitter& emitter, const Row& row, const Region& region,
                                                   llvm::Type* element);
void EmitRareRowStore(FunctionEmitter& emitter, const Row& row, const Region& region,
                      llvm::ArrayRef<llvm::Value*> values);

// The elements of `values` that are in `mask`, next to each other from `address` on, all checked before. For processors
// without AVX-512, and elements of 32 and 64 bits: vmaskmov takes as long as nine plain stores.
void EmitPartialStore(FunctionEmitter& emitter, llvm::Value* address, llvm::Value* values, llvm::Value* mask);

}  // namespace tutti::compiler
