// Functions whose lanes wait for each other (lane_conflict.h): lanes take turns.
//
// What this cannot serve: a function that is not inlined, as it is recursive or called by its address, is run by the
// lanes that called it until all have returned. If it returns with a lock that another lane waits for in it, that lane
// waits for ever.
#pragma once

#include "base/error.h"

namespace llvm {
class Function;
}

namespace tutti::compiler {

// Rewrites the function so that no lane waits for ever for one that could go on. It is in the form of prepare.h before,
// and needs to be brought into that form again.
Status TakeTurns(llvm::Function& function);

}  // namespace tutti::compiler
