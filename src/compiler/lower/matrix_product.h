// The product of one mma, as a call of the guest runtime.
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

// left * right + sums; .satfinite as the instruction says. Empty, and refused, if the runtime has no such product.
std::vector<llvm::Value*> MultiplyAccumulate(Emitter& e, const std::string& shape, const MatrixTypes& types,
                                             const MatrixFactors& factors);

// mma_kinds.cc: mma with .kind.
bool IsMmaOfKind(const Emitter& e);
void EmitMmaOfKind(Emitter& e);

}  // namespace tutti::compiler::lowering
