// 2^x and log2 x (tutti.fn.ex2.f32, tutti.fn.lg2.f32) by what AVX-512 does with exponents.
//
// VREDUCEPS is the fraction that is left of x, VSCALEFPS multiplies by 2^n, VGETEXPPS and VGETMANTPS take a number
// apart. They know infinities, zeros and subnormal numbers, which take most of the guest runtime's steps. Its functions
// give the same results to the bit, by the same polynomials: a launch may mix code of both (compiler/threads).
#pragma once

#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FunctionEmitter;

// tutti.fn.<name>. False if the guest runtime's function is to be called.
bool EmitApproximation(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef name);

}  // namespace tutti::compiler
