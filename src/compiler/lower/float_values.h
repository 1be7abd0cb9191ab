// Floating-point operations on values, for the families that need them. f32 and f64 unless said otherwise.
#pragma once

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

enum class Rounding { kNearest, kZero, kDown, kUp };

// Subnormal f32 become zero of the same sign: what .ftz does to inputs and results.
llvm::Value* FlushToZero(llvm::IRBuilder<>& ir, llvm::Value* x);
// The same of f16, as i16.
llvm::Value* FlushF16ToZero(llvm::IRBuilder<>& ir, llvm::Value* half);
// To [0, 1]; NaN becomes +0.
llvm::Value* Saturate(llvm::IRBuilder<>& ir, llvm::Value* x);

struct MinMax {
  bool maximum = false;
  bool propagate_nan = false;  // as the canonical NaN; else a number wins over NaN
};
// With -0 below +0.
llvm::Value* FloatMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, MinMax mode);

llvm::Value* IsNan(llvm::IRBuilder<>& ir, llvm::Value* x);

// f16 and bf16 as i16, and f32.
llvm::Value* F16ToF32(llvm::IRBuilder<>& ir, llvm::Value* half);
llvm::Value* Bf16ToF32(llvm::IRBuilder<>& ir, llvm::Value* half);
llvm::Value* F32ToF16(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding);
llvm::Value* F32ToBf16(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding);
// f64 -> f32.
llvm::Value* F64ToF32(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding);
// The exact number `nearest` + `error`, of which `nearest` is the nearest f32, rounded to odd instead: rounding once
// more, to at least two bits fewer, gives what rounding the exact one would. `error`: f32 or f64; its sign, and whether
// it is zero, are read.
llvm::Value* ToOdd(llvm::IRBuilder<>& ir, llvm::Value* nearest, llvm::Value* error);
// f64 -> f32, to odd.
llvm::Value* F64ToF32Odd(llvm::IRBuilder<>& ir, llvm::Value* value);
// f32 or f64 to an integer of 8 to 64 bits, rounded toward zero; what is out of range becomes the nearest that there
// is, and NaN the lowest. (LLVM's fptosi.sat goes one lane at a time.)
llvm::Value* SaturateToInteger(llvm::IRBuilder<>& ir, llvm::Value* x, llvm::IntegerType* type, bool is_signed);

}  // namespace tutti::compiler::lowering
