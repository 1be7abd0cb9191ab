// Ends of the kernel that lanes come to while others of their warp wait for them.
//
// Lanes wait for each other wherever they can meet again (schedule.h), so lanes that leave a loop wait behind it for
// those that still go round; lanes that jump to the kernel's last part, for those on the longer way. A barrier on that
// way would wait for them for ever, since it counts every thread that has not ended; so would an operation that names
// them as members. What comes after such a jump and leads to no meeting any more is copied for it: so lanes run on to
// their end at once, and are not missed.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

#include "compiler/widen/analysis/schedule.h"

namespace tutti::compiler {

// Whether there is such a jump at all.
bool HasJumpsToEnds(llvm::Function& function);

// Whether lanes may wait in a part of the function that leads to no meeting while others are at one.
bool HoldsBackEnds(llvm::Function& function, const Schedule& schedule);

// Gives each way to such a part its own copy. The schedule puts it right behind the jump. The function needs to be made
// canonical afterwards. False, and nothing is changed, if that would be too much code.
bool SeparateEnds(llvm::Function& function);

}  // namespace tutti::compiler
