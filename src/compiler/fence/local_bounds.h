// The bounds of a thread's local memory in use: two parameters that functions pass on to those they call.
#pragma once

#include <initializer_list>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// Adds the two parameters to the function's prototype, and to those of its indirect calls. A kernel has none: its own
// variables are the first.
void AddLocalBounds(ptx::Function& function);

// Parameters of 64 bits behind the function's own.
void AddParameters(ptx::Function& function, std::initializer_list<const char*> names);

}  // namespace tutti::compiler::fencing
