// Calls of functions that were not inlined: recursive ones, and those called through their address.
//
// A function of warps takes the WarpState*, the calling lanes (i32), where its part of each lane's local memory starts
// (i64), and its arguments as vectors; it returns a vector, or a struct of vectors.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {

class FunctionEmitter;

// Whether `indirect`, a call of tutti.call.<n>, may reach `target`: their types agree.
bool MayCall(const llvm::CallInst& indirect, const llvm::Function& target);

llvm::FunctionType* WideFunctionType(const llvm::Function& scalar);

// Of a defined function, or of tutti.call.<n> (kIndirectCall).
void EmitFunctionCall(FunctionEmitter& emitter, const llvm::CallInst& call, Intrinsic kind);
void DefineArguments(FunctionEmitter& emitter, llvm::Function& wide);
void EmitFunctionReturn(FunctionEmitter& emitter, const llvm::ReturnInst& instruction);

}  // namespace tutti::compiler
