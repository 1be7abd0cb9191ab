#include "compiler/lower/half_values.h"

namespace tutti::compiler::lowering {
namespace {

// An integer whose signed order is that of the numbers: magnitudes of negative ones are inverted.
llvm::Value* OrderOf(llvm::IRBuilder<>& ir, llvm::Value* half) {
  return ir.CreateXor(half, ir.CreateLShr(ir.CreateAShr(half, 15), 1));
}

struct Sum {
  llvm::Value *value, *error;  // their exact sum is that of the operands
};

// Knuth's two-sum. NaN as the error where an operand is infinite.
Sum TwoSum(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b) {
  llvm::Value* sum = ir.CreateFAdd(a, b);
  llvm::Value* virtual_b = ir.CreateFSub(sum, a);
  llvm::Value* virtual_a = ir.CreateFSub(sum, virtual_b);
  return {sum, ir.CreateFAdd(ir.CreateFSub(a, virtual_a), ir.CreateFSub(b, virtual_b))};
}

}  // namespace

llvm::Value* IsNanHalf(llvm::IRBuilder<>& ir, llvm::Value* half, HalfFormat format) {
  llvm::Value* magnitude = ir.CreateAnd(half, ir.getInt16(0x7fff));
  return ir.CreateICmpUGT(magnitude, ir.getInt16(format == HalfFormat::kF16 ? 0x7c00 : 0x7f80));
}

llvm::Value* HalfMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, HalfFormat format, MinMax mode) {
  llvm::Value *a_order = OrderOf(ir, a), *b_order = OrderOf(ir, b);
  llvm::Value* a_wins = mode.maximum ? ir.CreateICmpSGT(a_order, b_order) : ir.CreateICmpSLT(a_order, b_order);
  llvm::Value *a_nan = IsNanHalf(ir, a, format), *b_nan = IsNanHalf(ir, b, format);
  llvm::Value* result = ir.CreateSelect(a_wins, a, b);
  llvm::Value* canonical = ir.getInt16(0x7fff);
  if (mode.propagate_nan) return ir.CreateSelect(ir.CreateOr(a_nan, b_nan), canonical, result);
  result = ir.CreateSelect(b_nan, a, ir.CreateSelect(a_nan, b, result));
  return ir.CreateSelect(ir.CreateAnd(a_nan, b_nan), canonical, result);
}

llvm::Value* FmaOfHalves(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, llvm::Value* c, HalfFormat format) {
  if (format == HalfFormat::kF16) {
    // The product, of 22 bits between 2^-48 and 2^32, is exact in f32; the sum neither overflows nor underflows there.
    const Sum sum = TwoSum(ir, ir.CreateFMul(a, b), c);
    return ToOdd(ir, sum.value, sum.error);
  }
  // bf16 has the exponents of f32: the same in f64, whose rounding to f32 adds to the error. What that leaves is at
  // least one unit in the last place of the f64 sum, or zero: the sum's own error does not change its sign.
  const auto widened = [&](llvm::Value* x) { return ir.CreateFPExt(x, ir.getDoubleTy()); };
  const Sum sum = TwoSum(ir, ir.CreateFMul(widened(a), widened(b)), widened(c));
  return F64ToF32Odd(ir, sum.value, sum.error);
}

}  // namespace tutti::compiler::lowering
