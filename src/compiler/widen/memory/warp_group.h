// Products of matrices by a group of four warps: tutti.wgmma.*.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// False if `intrinsic` is another.
bool EmitWarpGroup(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

}  // namespace tutti::compiler
