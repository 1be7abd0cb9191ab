// Duplicates functions whose lanes may diverge at warp operations and barriers (partings.h), but hardly ever do: the
// function as it is, and an *apart copy* whose lanes take turns and meet wherever they are (meetings.h).
//
// A site that misses lanes sets a flag of the warp and jumps to its counterpart in the copy; the blocks where other
// lanes may be pending then (gates) test the flag and do the same. All of them enter the copy's loop of turns
// (turn_loop.h). No lane returns to the original.
//
// The original costs what it would without the copy, plus the tests at sites and gates. If it takes turns itself, it
// has a loop of its own (turns.h); all lanes whose turn it is not are at that loop's end, which is therefore the gate.
#pragma once

#include "base/error.h"
#include "compiler/widen/analysis/partings.h"

namespace tutti::compiler {

// Adds the copy. `takes_turns`: lanes of the original take turns, too (lane_conflict.h). The function is in the form of
// prepare.h before, and must be brought into that form again.
Status AddApartCopy(llvm::Function& function, const Partings& partings, bool takes_turns);

}  // namespace tutti::compiler
