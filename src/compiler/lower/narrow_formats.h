// Conversions to and from formats that are not computed with: floats of 4, 6 and 8 bits in pairs, exponents alone, and
// tf32; and stochastic rounding.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// One of the formats in pairs: .e4m3x2 and its like.
bool IsNarrowFormat(ptx::Type type);

void EmitCvtNarrow(Emitter& e);
// stochastic_rounding.cc: cvt.rs, to them and to halves
void EmitCvtStochastic(Emitter& e);

}  // namespace tutti::compiler::lowering
