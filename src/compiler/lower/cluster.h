// Shared memory of the blocks of a cluster: addresses as guest/cpu/kernel_abi.h has them.
//
// Accesses need nothing: a pointer of shared memory reaches all slots of the block's view, and the check of addresses
// lets those of the cluster pass. What is here makes such addresses and tells them apart.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// The place in the shared window of the block of `rank` (i32) that is at the same offset as what `pointer`, of shared
// memory, addresses.
llvm::Value* PointerInBlock(Emitter& e, llvm::Value* pointer, llvm::Value* rank);
// body(rank) for each block of the cluster whose bit is set in `mask` (i16).
void ForEachBlock(Emitter& e, llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body);
// i1: the generic address (i64) is one of shared memory of the cluster; there is none without one of several blocks.
llvm::Value* IsInCluster(Emitter& e, llvm::Value* address);
// The address in shared::cluster (i64) that a generic one of shared memory stands for, good for all blocks.
llvm::Value* SharedClusterAddress(Emitter& e, llvm::Value* generic);

}  // namespace tutti::compiler::lowering
