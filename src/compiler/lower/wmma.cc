#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {

void EmitWmma(Emitter& e) { e.Refuse("matrix instructions are not supported"); }
void EmitMma(Emitter& e) { e.Refuse("matrix instructions are not supported"); }
void EmitLdmatrix(Emitter& e) { e.Refuse("matrix instructions are not supported"); }
void EmitMovmatrix(Emitter& e) { e.Refuse("matrix instructions are not supported"); }

}  // namespace tutti::compiler::lowering
