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

// The f32 number nearest to an exact one, rounded to odd instead: if it is even, what was rounded away decides which of
// its neighbours it becomes. `signs` has the top bit set where the value was rounded away from zero; `inexact` says
// that something was rounded away.
llvm::Value* ToOdd(llvm::IRBuilder<>& ir, llvm::Value* value, llvm::Value* signs, llvm::Value* inexact) {
  llvm::Value* bits = AsBits(ir, value);
  llvm::Value* toward_zero = ir.CreateAdd(bits, ir.CreateAShr(signs, 31));
  llvm::Value* odd = ir.CreateSelect(inexact, ir.CreateOr(toward_zero, 1), bits);
  return ir.CreateBitCast(odd, value->getType());
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
    llvm::Value* zero = llvm::ConstantFP::get(sum.error->getType(), 0.0);
    llvm::Value* signs = ir.CreateXor(AsBits(ir, sum.value), AsBits(ir, sum.error));
    return ToOdd(ir, sum.value, signs, ir.CreateFCmpONE(sum.error, zero));  // false for NaN: infinities stay
  }
  // bf16 has the exponents of f32: the same in f64, and what its rounding to f32 leaves is part of the error. It is at
  // least one unit in the last place of the f64 sum, or zero: the sum's own error does not change its sign.
  llvm::Type* wide = ir.getDoubleTy();
  const auto widened = [&](llvm::Value* x) { return ir.CreateFPExt(x, wide); };
  const Sum sum = TwoSum(ir, ir.CreateFMul(widened(a), widened(b)), widened(c));
  llvm::Value* value = ir.CreateFPTrunc(sum.value, ir.getFloatTy());
  llvm::Value* error = ir.CreateFAdd(ir.CreateFSub(sum.value, widened(value)), sum.error);
  llvm::Value* high = ir.CreateTrunc(ir.CreateLShr(AsBits(ir, error), 32), ir.getInt32Ty());
  llvm::Value* inexact = ir.CreateFCmpONE(error, llvm::ConstantFP::get(wide, 0.0));
  return ToOdd(ir, value, ir.CreateXor(AsBits(ir, value), high), inexact);
}

}  // namespace tutti::compiler::lowering
