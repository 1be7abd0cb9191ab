// Loops that wait for what another thread writes ("spin loops").
//
// Other warps run on this processor only if this one yields: such loops get a call of tutti.yield() before they
// iterate. Other lanes of this warp run only if the schedule lets them (lane_conflict.h).
#pragma once

#include <llvm/Analysis/LoopInfo.h>

#include <vector>

namespace llvm {
class DominatorTree;
class PostDominatorTree;
}  // namespace llvm

namespace tutti::compiler {

// Adds a yield to the loops that leave by what a volatile or atomic load, or an attempt to take a lock, returned, and
// that neither yield nor wait at a barrier already. "By" is meant widely: as an operand of the condition, by a branch
// that chose a value of it, or by a branch before each of the loop's exits.
void MarkSpinLoops(llvm::Function& function, const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators,
                   const llvm::PostDominatorTree& post_dominators);

// The loop leaves by what others write, as above, whatever else it does.
bool LeavesByWhatOthersWrite(const llvm::Loop& loop, const llvm::DominatorTree& dominators,
                             const llvm::PostDominatorTree& post_dominators);

// The loop itself, not one inside it, has a call of tutti.yield().
bool IsSpinLoop(const llvm::LoopInfo& loops, const llvm::Loop& loop);

// The headers of the function's spin loops, outer ones first.
std::vector<llvm::BasicBlock*> SpinLoopHeaders(llvm::Function& function);

// The atomic operations in the loop that attempt something: they read what others wrote, and the loop tests the result.
unsigned CountAttempts(const llvm::Loop& loop);

// A warp may wait for another of its block though no loop yields: by a loop that asks in a function that is not
// inlined, or by an operation that is taken for progress (`while (atomicAdd(&lock, 1) != 0);`). That ends as long as
// each warp has ended when the next one begins, and not where a warp stops in between.
bool MayWaitUnseen(const llvm::Module& module);

// Something in the function may make it spin; for functions whose loops are not in canonical form yet.
bool MaySpin(const llvm::Function& function);

}  // namespace tutti::compiler
