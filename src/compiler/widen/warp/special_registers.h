// Special registers: indices, sizes, bases.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// Offset of the field of guest::BlockState that a kBlockField intrinsic reads, by its suffix; 4 or 8 bytes wide, as its
// result. Negative if there is none.
int64_t BlockFieldOffset(llvm::StringRef name);

// False if `intrinsic` is not one of these.
bool EmitSpecialRegister(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

}  // namespace tutti::compiler
