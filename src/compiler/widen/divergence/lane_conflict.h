// Whether a loop that waits may wait for a lane of its own warp that the schedule makes wait for it.
//
// While lanes go round in a loop, others of their warp may be pending elsewhere (schedule.h): they left the loop
// earlier, or went another way. If one of them could write memory before it must meet the waiting lanes at a barrier of
// the block, it may be the one that is waited for. A lock that each lane takes is of this kind, and lane i that waits
// for lane i - 1. Not of this kind are the common waits that have to stay fast: whole warps that wait for other warps
// or blocks, and one lane that does so for the others, which stand at the barrier meanwhile (cooperative groups'
// grid.sync()).
//
// A loop that takes and gives back a lock within a round needs nobody else either; one that tries for two does: lanes
// in step that take them in different order never get both.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "compiler/widen/analysis/schedule.h"
#include "compiler/widen/analysis/shape_analysis.h"

namespace tutti::compiler {

bool HasLaneConflict(const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators, const Schedule& schedule,
                     const ShapeAnalysis& shapes);

}  // namespace tutti::compiler
