// By what a launch can be withdrawn that has not begun (guest/gpu/fenced_ptx.h): kernels take its number, and begin
// with a look whether they may.
#pragma once

#include <cstddef>
#include <string>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

inline constexpr const char* kBeginFunction = "__tutti_begin";

// Of a kernel, one more parameter behind its own, unless there is no room for it.
void AddLaunchParameter(ptx::Function& function);
bool HasLaunchParameter(const ptx::Function& function);
// How many it has without that one.
size_t OwnParameters(const ptx::Function& function);

// __tutti_begin (check_functions.h, kOwnSpace): takes the number, and ends the thread if the launch is withdrawn.
std::string BeginFunction();

}  // namespace tutti::compiler::fencing
