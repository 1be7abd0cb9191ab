// Prints a Module as PTX text that parses to the same Module, and that the vendor's assembler accepts.
//
// What the Module does not keep is lost: a header's pragmas, debug sections, the names of pointers' spaces. Nested
// scopes are flattened (their names are unique already). A function without a body (an error, or not parsed) is printed
// as a declaration.
#pragma once

#include <string>

#include "ptx/ast.h"

namespace tutti::ptx {

std::string Print(const Module& module);

}  // namespace tutti::ptx
