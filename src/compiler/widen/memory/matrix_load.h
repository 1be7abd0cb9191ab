// Loads of matrices that the lanes of a warp make together: tutti.matrix_load and tutti.matrix_rows.
//
// A block of a matrix is a few rows of 8 to 64 contiguous bytes. The code loads it row by row and distributes its
// elements over the lanes by one constant permutation: an eighth of the accesses of a gather, and none of them small.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// False if `intrinsic` is neither.
bool EmitMatrixLoad(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

}  // namespace tutti::compiler
