// Gives cudaGraphSetConditional a body, which a driver has for the conditional nodes of its own graphs alone: for a
// device that has the conditions' values in memory, where a handle is the address of a word.
#pragma once

#include <string_view>

#include "ptx/ast.h"

namespace tutti::ptx {

inline constexpr std::string_view kSetConditional = "cudaGraphSetConditional";

// Whether the module declares it, as compilers do.
bool DeclaresSetConditional(const Module& module);

// Where the module declares it: a function named `name`, so that no driver takes it for its own.
void DefineSetConditional(Module* module, std::string_view name);

}  // namespace tutti::ptx
