// Takes managed variables out of a module, for a device that has them elsewhere: in memory which the host reaches, too.
//
// A variable `v` stays, as one of the device's alone, which no code uses: it holds the initial value. The constant
// `prefix` + "v", which the device fills in, is where code finds the memory.
#pragma once

#include <string>
#include <string_view>

#include "ptx/ast.h"

namespace tutti::ptx {

bool HasManagedVariables(const Module& module);

// Empty: it is done, where the module has any. Else why it cannot be, and the module is as it was.
std::string TakeOutManagedVariables(Module* module, std::string_view prefix);

}  // namespace tutti::ptx
