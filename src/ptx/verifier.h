// Checks what lowering relies on: that an instruction has the number of operands, and their kinds and register classes,
// that it needs. Deliberately not a complete ISA checker: what lowering does not rely on, or refuses itself, is not
// checked here.
#pragma once

#include <optional>

#include "ptx/ast.h"
#include "ptx/diagnostics.h"

namespace tutti::ptx {

// The first error in the function's body, if any.
std::optional<Diagnostic> Verify(const Module& module, const Function& function);

}  // namespace tutti::ptx
