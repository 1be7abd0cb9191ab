// Makes lanes take turns in functions where they wait for each other (lane_conflict.h). Lanes that wait in called
// functions are not seen here: spinning_calls.h has made those a part of the kernel. Lanes that diverge at warp
// operations and barriers are handled by apart_copy.h.
#pragma once

#include "base/error.h"
#include "compiler/widen/divergence/turn_regions.h"

namespace tutti::compiler {

// Rewrites the function so that no lane waits for ever for one that could continue. It is in the form of prepare.h
// before, and must be brought into that form again. `in_memory`: what is live from turn to turn stays in memory, which
// runs slower but bounds the time to compile.
Status TakeTurns(llvm::Function& function, bool in_memory);
// The same for what FindTurnRegions() found: outside of the regions lanes run in the order of schedule.h. Whether that
// suffices is to be asked of the result, in its form again: AllLanesTakeTurns().
Status TakeTurnsIn(llvm::Function& function, llvm::ArrayRef<TurnRegion> regions, bool in_memory);

}  // namespace tutti::compiler
