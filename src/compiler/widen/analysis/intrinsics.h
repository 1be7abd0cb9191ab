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

// Lanes reconverge here: those that the first argument names, or all.
bool IsMeetingOfMembers(Intrinsic kind);
bool IsMeetingOfAll(Intrinsic kind);
// A barrier that counts all threads that have not ended.
bool IsBarrier(Intrinsic kind);
// Lanes wait here for lanes that have not ended: at a barrier, a matrix operation, or an operation on members that were
// not checked earlier in the same block.
bool WaitsForLanes(const llvm::BasicBlock& block);
// The members of this call were already found present in its own block.
bool AreMembersHere(const llvm::CallInst& call);
// Part of an instruction that PTX calls .aligned: all threads of the warp execute it together.
bool IsAligned(const llvm::CallInst& call);
// All active lanes get one value, whatever the arguments.
bool IsUniformResult(Intrinsic kind);
// All lanes with the same member mask get one value.
bool IsUniformAmongMembers(Intrinsic kind);

// The module calls a barrier that counts the lanes which have not exited.
bool UsesBarrier(const llvm::Module& module);
// The module calls something at which other warps may run.
bool MayYield(const llvm::Module& module);

}  // namespace tutti::compiler
