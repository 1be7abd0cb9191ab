// Copies by tensor maps: tutti.tensor_copy, lane by lane in the guest runtime.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// False if `intrinsic` is another.
bool EmitTensorCopy(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

}  // namespace tutti::compiler
