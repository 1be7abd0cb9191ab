// Conversions to and from formats that are not computed with: 8-bit floats in pairs, and tf32.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

inline bool IsNarrowFormat(ptx::Type type) { return type == ptx::Type::kE4M3x2 || type == ptx::Type::kE5M2x2; }

void EmitCvtNarrow(Emitter& e);

}  // namespace tutti::compiler::lowering
