// Modifiers whose meaning an instruction has here anyway: the rounding that is the default, an order or a scope where
// what is done is stronger, .sync where a warp is always together.
#pragma once

#include "ptx/ast.h"

namespace tutti::compiler::lowering {

bool IsImplied(ptx::Opcode opcode, ptx::Modifier modifier);

}  // namespace tutti::compiler::lowering
