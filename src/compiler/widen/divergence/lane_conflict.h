// Whether a loop that waits may wait for a lane of its own warp which the schedule makes wait for the loop: the SIMT
// deadlock.
//
// While lanes are in a loop, others of their warp may be pending elsewhere (schedule.h): they left the loop earlier, or
// took another branch. If one of them can write memory before it must meet the waiting lanes at a barrier of the block,
// it may be the one that the loop waits for: a lock that each lane takes, or lane i waiting for lane i - 1. Common
// waits are not of this kind and must stay fast: whole warps that wait for other warps or blocks, and one lane that
// waits for all while they stand at the barrier (cooperative groups' grid.sync()).
//
// A loop that takes and releases a lock within one iteration needs no other lane either; one that tries for two locks
// does: lanes in lockstep that take them in different order never get both.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "compiler/widen/analysis/schedule.h"
#include "compiler/widen/analysis/shape_analysis.h"

namespace tutti::compiler {

bool HasLaneConflict(const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators, const Schedule& schedule,
                     const ShapeAnalysis& shapes);

}  // namespace tutti::compiler
