// What calls of tutti.* functions (compiler/contract/intrinsics.def) imply.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Instructions.h>

#include "compiler/contract/intrinsics.h"

namespace tutti::compiler {

struct IntrinsicCall {
  Intrinsic kind = Intrinsic::kNone;
  llvm::StringRef suffix;  // what follows the kind in the name: "x" of tutti.tid.x, "idx.i32" of tutti.shfl.idx.i32
};

IntrinsicCall ClassifyFunction(const llvm::Function* function);
inline IntrinsicCall ClassifyCall(const llvm::CallInst& call) { return ClassifyFunction(call.getCalledFunction()); }

// Lanes come here together: those that the first argument names, or all.
bool IsMeetingOfMembers(Intrinsic kind);
bool IsMeetingOfAll(Intrinsic kind);
// One of the barriers that count all threads that have not ended.
bool IsBarrier(Intrinsic kind);
// Lanes wait here for lanes that have not ended: at a barrier, at an operation on matrices, or at one of members that
// they have not asked for in the same block.
bool WaitsForLanes(const llvm::BasicBlock& block);
// These members are all here, as they were asked for in the call's own block.
bool AreMembersHere(const llvm::CallInst& call);
// Part of an instruction that all threads of the warp execute together: PTX calls it .aligned.
bool IsAligned(const llvm::CallInst& call);
// All active lanes get one value, whatever the arguments.
bool IsUniformResult(Intrinsic kind);
// All lanes that name one set of members get one value.
bool IsUniformAmongMembers(Intrinsic kind);

// The module has a call of one of the barriers that know which lanes have left the kernel.
bool UsesBarrier(const llvm::Module& module);
// It has one of anything at which other warps may run.
bool MayYield(const llvm::Module& module);

}  // namespace tutti::compiler
