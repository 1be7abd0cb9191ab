// Integer operations on values, for the families that need them.
#pragma once

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

// a op b clamped to the range of its signed type.
llvm::Value* SaturatingAddSub(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool subtract);
// The upper half of the double-width product.
llvm::Value* MulHigh(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool is_signed);
llvm::Value* IntegerMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool is_signed, bool maximum);
// |x|, and INT_MIN for INT_MIN.
llvm::Value* IntegerAbs(llvm::IRBuilder<>& ir, llvm::Value* x);

}  // namespace tutti::compiler::lowering
