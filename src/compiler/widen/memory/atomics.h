// Atomic read-modify-write operations: the lanes of a warp one after the other, in ascending order.
//
// Lanes that all add to one address add up first and touch memory once. Shared memory belongs to a block, which runs on
// one thread, so atomics on it need no lock.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

void EmitAtomicRmw(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic);
void EmitCompareExchange(FunctionEmitter& emitter, const llvm::AtomicCmpXchgInst& exchange);

}  // namespace tutti::compiler
