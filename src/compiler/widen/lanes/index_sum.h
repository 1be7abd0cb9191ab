// Whether one 32-bit index is the sum of two others, where it is asked in 64 bits: vectors of 32 are half as many.
#pragma once

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>

namespace tutti::compiler {

struct IndexSum {
  const llvm::SCEV *sum, *one, *other;  // i32
};

// If `apart` is scale * (zext sum - zext one - zext other), i64, of a scale so small that no product wraps.
std::optional<IndexSum> IndexSumOf(const llvm::SCEV& apart);

// i1: `sum` is `one` + `other`, without a carry. That is, of the above: it is 0.
llvm::Value* Adds(llvm::IRBuilder<>& builder, llvm::Value* sum, llvm::Value* one, llvm::Value* other);

}  // namespace tutti::compiler
