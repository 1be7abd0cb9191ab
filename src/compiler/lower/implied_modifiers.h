// Modifiers that hold anyway: the default rounding, an order or scope weaker than the one implemented, .sync where a
// warp is always together.
#pragma once

#include "ptx/ast.h"

namespace tutti::compiler::lowering {

bool IsImplied(ptx::Opcode opcode, ptx::Modifier modifier);

}  // namespace tutti::compiler::lowering
