// Integer division of 32 lanes. x86 has no vector form of it.
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

// udiv, sdiv, urem or srem of two vectors. Lanes that are not active divide by one: their divisor may be zero.
llvm::Value* EmitDivision(FunctionEmitter& emitter, const llvm::BinaryOperator& operation, llvm::Value* dividend,
                          llvm::Value* divisor);

}  // namespace tutti::compiler
