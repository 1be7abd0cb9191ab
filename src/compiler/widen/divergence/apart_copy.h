// Functions whose lanes may come apart at warp operations and barriers (partings.h), but hardly ever do, are there
// twice: as they are, and as a copy whose lanes take turns and meet wherever they are (meetings.h). A site that misses
// lanes sets a flag of the warp and goes to its copy; the blocks where others may be pending then look at the flag and
// go to theirs. All come to the copy's loop of turns (turn_loop.h). Nobody comes back.
//
// The original is as it would be without the copy, but for what it asks at sites and gates. If it takes turns, it does
// so in a loop of its own (turns.h); lanes that are not among those whose turn it is are all at that loop's end, so
// that is the gate.
#pragma once

#include "base/error.h"
#include "compiler/widen/analysis/partings.h"

namespace tutti::compiler {

// Adds the copy. `takes_turns`: lanes of the original are to take turns, too (lane_conflict.h). The function is in the
// form of prepare.h before, and needs to be brought into that form again.
Status AddApartCopy(llvm::Function& function, const Partings& partings, bool takes_turns);

}  // namespace tutti::compiler
