// Unrolled loops of lanes, rolled up again. A compiler makes of a loop one of several rounds at a time, and one of the
// rounds that remain, behind it or in front:
//
//     before                                    after
//      n % 4 times: s = s + f(i); i += 1         n times: s = s + f(i); i += 1
//      n / 4 times: s = (((s + f(i)) + f(i + 1)) + f(i + 2)) + f(i + 3); i += 4
//
// A processor predicts the end of neither where each lane has its own n, and that costs more than it saves.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "compiler/widen/lanes/lane_regions.h"

namespace tutti::compiler {

// Whether there were any. The two loops stay, for lanes of which it turns out in front of them that they do not fit
// each other (an index that wraps between the two). The analyses are up to date again; regions are not.
bool RollLoops(llvm::ArrayRef<LaneRegion> regions, llvm::LoopInfo& loops, llvm::DominatorTree& dominators);

}  // namespace tutti::compiler
