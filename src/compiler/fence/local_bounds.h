// The bounds of a thread's local memory in use: two parameters that functions pass on to those they call.
#pragma once

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// Adds the two parameters to the function's prototype, and to those of its indirect calls. A kernel has none: its own
// variables are the first.
void AddLocalBounds(ptx::Function& function);

}  // namespace tutti::compiler::fencing
