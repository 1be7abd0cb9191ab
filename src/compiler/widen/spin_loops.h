// Loops that wait for what another thread writes.
//
// Other warps run on this processor only if this one lets them, and other lanes of this warp only if the schedule does
// (schedule.h): such loops get a call of tutti.yield() before they go round, by which both know them.
#pragma once

#include <llvm/Analysis/LoopInfo.h>

namespace tutti::compiler {

// Marks the loops that leave by what a volatile or atomic load, or an attempt to take a lock, returned, and that neither
// yield nor wait at a barrier already.
void MarkSpinLoops(llvm::Function& function, const llvm::LoopInfo& loops);

// The loop itself, not one inside it, has a call of tutti.yield().
bool IsSpinLoop(const llvm::LoopInfo& loops, const llvm::Loop& loop);

}  // namespace tutti::compiler
