// Loops that wait for what another thread writes: nothing else of the block may run on this processor until they let it.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>

namespace tutti::compiler {

// Latches of loops that leave by what a volatile or atomic load, an exchange, or an atomic that changes nothing returned,
// and that do not wait at a barrier anyway.
llvm::DenseSet<const llvm::BasicBlock*> FindSpinLatches(const llvm::LoopInfo& loops);

}  // namespace tutti::compiler
