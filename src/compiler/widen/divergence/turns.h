// Functions whose lanes wait for each other (lane_conflict.h): lanes take turns. Lanes that wait in called functions
// are no concern here: spinning_calls.h has made these a part of the kernel. Lanes that may come apart at warp
// operations and barriers are another matter (apart_copy.h).
#pragma once

#include "base/error.h"

namespace llvm {
class Function;
}

namespace tutti::compiler {

// Rewrites the function so that no lane waits for ever for one that could go on. It is in the form of prepare.h before,
// and needs to be brought into that form again. `in_memory`: what a lane keeps from turn to turn stays in memory, which
// is slower to run, and bounded to compile however much it is.
Status TakeTurns(llvm::Function& function, bool in_memory);

}  // namespace tutti::compiler
