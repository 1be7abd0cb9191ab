// The parts of a function in which lanes must take turns, where these end at a barrier of the block.
//
// A loop that waits for another lane needs turns from its header on, until no lane can be in the loop any more while
// others are elsewhere (turns.h). A barrier that counts all threads of the block is such a point: no lane passes it
// before all lanes of its warp that have not ended are there. So what is behind it needs no turns, unless it leads to
// the loop again. A *region* is what can be reached from the headers of loops that wait without passing one such
// barrier, its end.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "compiler/widen/analysis/block_shape.h"
#include "compiler/widen/analysis/schedule.h"

namespace tutti::compiler {

struct TurnRegion {
  llvm::SmallSetVector<llvm::BasicBlock*, 4> waiting;  // headers of the loops that wait in it
  llvm::CallInst* end = nullptr;  // the barrier; null if the region reaches to the function's end
};

// Regions that have no block in common, and of which none leads into itself again through its end. Empty if none of
// them ends before the function does.
std::vector<TurnRegion> FindTurnRegions(llvm::Function& function, const BlockShape& shape);

// Whether turns that end suffice for a function that was rewritten for its regions: while lanes take turns, those
// elsewhere have ended or stand at the barrier that ends the region; and outside of regions, all lanes that have not
// ended come together to each operation at which lanes meet, as they would if they took turns there.
bool AllLanesTakeTurns(const llvm::LoopInfo& loops, const Schedule& schedule, const BlockShape& shape);

}  // namespace tutti::compiler
