// Checks what lowering relies on: that an instruction has as many operands as its kind needs, of the kinds and register
// classes it needs. It is deliberately not a complete ISA checker: what lowering does not rely on, or refuses itself,
// is not looked at here.
#pragma once

#include <optional>

#include "ptx/ast.h"
#include "ptx/diagnostics.h"

namespace tutti::ptx {

// The first thing wrong with the function's body, if any.
std::optional<Diagnostic> Verify(const Module& module, const Function& function);

}  // namespace tutti::ptx
