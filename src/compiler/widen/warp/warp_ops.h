// Operations between the lanes of a warp: shuffles, votes, matches, reductions.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// False if `intrinsic` is not one of these.
bool EmitWarpOperation(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

}  // namespace tutti::compiler
