// PTX types as LLVM types, and conversions between the bit patterns of registers (ir_contract.md, "Values").
#pragma once

#include "compiler/lower/llvm.h"
#include "ptx/ast.h"

namespace tutti::compiler::lowering {

// pred -> i1, f32 -> float, f64 -> double, f16 and bf16 -> i16, pairs -> i32 or i64, everything else an integer of its
// width. Null for references and kNone.
llvm::Type* TypeOf(llvm::LLVMContext& context, ptx::Type type);

inline bool IsHalf(ptx::Type type) { return type == ptx::Type::kF16 || type == ptx::Type::kBF16; }
inline bool IsHalfPair(ptx::Type type) { return type == ptx::Type::kF16x2 || type == ptx::Type::kBF16x2; }
inline bool IsBfloat(ptx::Type type) { return type == ptx::Type::kBF16 || type == ptx::Type::kBF16x2; }
inline bool IsSinglePrecision(ptx::Type type) { return type == ptx::Type::kF32; }
inline bool IsWideFloat(ptx::Type type) { return type == ptx::Type::kF32 || type == ptx::Type::kF64; }

// Integer of 8 to 128 bits, also untyped.
bool IsInteger(ptx::Type type);

// `value` as `type`: the same bits where the widths agree; else the low bits, or extended by sign if `is_signed`.
llvm::Value* Reinterpret(llvm::IRBuilder<>& ir, llvm::Value* value, llvm::Type* type, bool is_signed);

// `value` as an integer of its own width.
llvm::Value* AsBits(llvm::IRBuilder<>& ir, llvm::Value* value);

}  // namespace tutti::compiler::lowering
