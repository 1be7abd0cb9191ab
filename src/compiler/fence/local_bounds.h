// From where to where a thread's local memory is in use: two parameters that functions pass on to those they call.
#pragma once

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// Adds the two parameters to the function's prototype, and to those of its indirect calls. A kernel has none: it starts
// with its own variables.
void AddLocalBounds(ptx::Function& function);

}  // namespace tutti::compiler::fencing
