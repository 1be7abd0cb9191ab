// Operations that work on each lane alone: arithmetic, comparisons, selects, conversions, address computations, parts
// of structs and small vectors, LLVM's elementwise intrinsics.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/shape_rules.h"

namespace tutti::compiler {

class FunctionEmitter;

void EmitElementwise(FunctionEmitter& emitter, const llvm::Instruction& instruction);

}  // namespace tutti::compiler
