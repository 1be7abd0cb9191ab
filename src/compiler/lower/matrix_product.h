// What instructions that multiply matrices share: operands in registers, and the product of one mma as a call of the
// guest runtime.
#pragma once

#include <vector>

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

struct MatrixTypes {
  ptx::Type d, a, b, c;
};
// Registers: i32 (f64: double); accumulators as float, double or i32, halves packed in pairs.
struct MatrixFactors {
  std::vector<llvm::Value*> left, right, sums;
};

// The registers of a matrix: the elements of operand number `operand`, a vector.
std::vector<llvm::Value*> ReadAll(Emitter& e, size_t operand, ptx::Type type);

// left * right + sums; .satfinite as the instruction says. Empty, and refused, if the runtime has no such product.
std::vector<llvm::Value*> MultiplyAccumulate(Emitter& e, const std::string& shape, const MatrixTypes& types,
                                             const MatrixFactors& factors);

// mma_kinds.cc: mma with .kind.
bool IsMmaOfKind(const Emitter& e);
void EmitMmaOfKind(Emitter& e);

}  // namespace tutti::compiler::lowering
