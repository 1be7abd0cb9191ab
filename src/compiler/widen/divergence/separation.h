// What is done so that no lane waits for ever for one that could go on, in the code of one thread: ends are separated
// (early_ends.h), lanes take turns (turns.h), a copy is added for lanes that come apart (apart_copy.h), or nothing.
//
// The copy is optional: what it makes the function grow to is known before it is kept, and above a bound the function
// has none. A program whose lanes come apart all the same is told then by a fault.
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
