// Operations on f16 and bf16, as i16, whose detours through wider numbers cost more than they need to.
#pragma once

#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {

enum class HalfFormat { kF16, kBF16 };

llvm::Value* IsNanHalf(llvm::IRBuilder<>& ir, llvm::Value* half, HalfFormat format);

// With -0 below +0; of two NaNs, or one if it propagates, the canonical NaN.
llvm::Value* HalfMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, HalfFormat format, MinMax mode);

}  // namespace tutti::compiler::lowering
