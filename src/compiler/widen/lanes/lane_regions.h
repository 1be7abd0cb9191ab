// Parts of a function that run lane after lane ("thread-serial"), as scalar code: loops of which each lane has its own
// number of rounds and whose accesses are gathers, such as the row of a sparse matrix, the neighbours in a graph, the
// way down a tree. As vectors, every round of the longest lane costs what 32 lanes cost.
//
// A region is entered at one place, ends at one block, and needs no other lane: its lanes neither meet (a barrier, an
// operation that names lanes) nor wait for what others write (a spin loop has a call of tutti.yield()), and there are
// no atomic or volatile accesses. So each lane comes to the end by itself, and any order of the lanes is one that a
// program must expect.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include <vector>

#include "compiler/widen/analysis/options.h"
#include "compiler/widen/analysis/shape_analysis.h"

namespace tutti::compiler {

struct LaneRegion {
  llvm::BasicBlock* before = nullptr;  // the region begins with its last instruction
  llvm::SmallSetVector<llvm::BasicBlock*, 16> blocks;  // not `before`
  llvm::BasicBlock* exit = nullptr;  // not of the region
};

// Regions have no block in common. A choice by estimated costs: of accesses and operations, on the target.
std::vector<LaneRegion> FindLaneRegions(llvm::Function& scalar, const llvm::LoopInfo& loops,
                                        const llvm::DominatorTree& dominators, const ShapeAnalysis& shapes,
                                        const WidenOptions& options);

// A call that is the same wherever in a function it stands.
bool IsOfThread(const llvm::Instruction& instruction);

}  // namespace tutti::compiler
