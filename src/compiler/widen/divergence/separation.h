// Prevents deadlock between the lanes of a warp, by a rewrite of the scalar code: ends are separated (early_ends.h),
// lanes take turns (turns.h), an apart copy is added (apart_copy.h), or nothing is done.
//
// The copy is optional: its size is known before it is kept, and a function above a bound gets none. If lanes of such a
// function diverge at an operation all the same, the kernel ends with a fault.
#pragma once

#include "base/error.h"

namespace llvm {
class Function;
}

namespace tutti::compiler {

struct ModuleState;

// The function is in the form of prepare.h before and afterwards.
Status SeparateLanes(llvm::Function& scalar, const ModuleState& state);

}  // namespace tutti::compiler
