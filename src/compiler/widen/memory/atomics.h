// Atomic read-modify-write operations: lane after lane, in ascending order.
//
// Lanes that all add to one address are reduced first and touch memory once. Shared memory belongs to a block, which
// runs on one thread, so atomics on it need no lock.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

void EmitAtomicRmw(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic);
void EmitCompareExchange(FunctionEmitter& emitter, const llvm::AtomicCmpXchgInst& exchange);

}  // namespace tutti::compiler
