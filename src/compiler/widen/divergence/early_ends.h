// Lanes that end while others of their warp wait for them.
//
// Lanes wait for each other wherever they can reconverge (schedule.h): those that have left a loop wait behind it for
// those still in it, those that have jumped to the kernel's last part for those on the longer path. A barrier on that
// path would wait for them for ever, since it counts every thread that has not ended; so would an operation that names
// them as members. Therefore code behind such a jump that leads to no meeting is duplicated for the jump ("tail
// duplication"): the lanes run to their end at once, and nobody waits for them.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

#include "compiler/widen/analysis/schedule.h"

namespace tutti::compiler {

// Whether there is such a jump.
bool HasJumpsToEnds(llvm::Function& function);

// Whether lanes may wait in a part of the function that leads to no meeting while others are at one.
bool HoldsBackEnds(llvm::Function& function, const Schedule& schedule);

// Gives each way into such a part its own copy, which the schedule puts right behind the jump. The function must be
// made canonical afterwards. False, with nothing changed, if that would be too much code.
bool SeparateEnds(llvm::Function& function);

}  // namespace tutti::compiler
