#include "compiler/lower/half_values.h"

namespace tutti::compiler::lowering {
namespace {

// An integer whose signed order is that of the numbers: magnitudes of negative ones are inverted.
llvm::Value* OrderOf(llvm::IRBuilder<>& ir, llvm::Value* half) {
  return ir.CreateXor(half, ir.CreateLShr(ir.CreateAShr(half, 15), 1));
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

}  // namespace tutti::compiler::lowering
