#include "compiler/lower/float_values.h"

#include "compiler/lower/flushes.h"

namespace tutti::compiler::lowering {
namespace {

llvm::Type* BitsType(llvm::IRBuilder<>& ir, llvm::Value* x) {
  return ir.getIntNTy(x->getType()->getScalarSizeInBits());
}
llvm::Value* Bits(llvm::IRBuilder<>& ir, llvm::Value* x) { return ir.CreateBitCast(x, BitsType(ir, x)); }

llvm::Value* Zero(llvm::Value* x) { return llvm::ConstantFP::get(x->getType(), 0.0); }

// Decided at compile time for constants.
bool IsConstantNonzero(llvm::Value* x) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(x);
  return constant != nullptr && !constant->isZero() && !constant->isNaN();
}

// `rounded`, the nearest narrower number to `exact`, moved one step where the direction asks for it. `back` is
// `rounded` widened again.
llvm::Value* Redirect(llvm::IRBuilder<>& ir, llvm::Value* rounded, llvm::Value* back, llvm::Value* exact,
                      Rounding rounding) {
  if (rounding == Rounding::kNearest) return rounded;
  llvm::Type* type = rounded->getType();
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* negative = ir.CreateICmpSLT(rounded, llvm::ConstantInt::get(type, 0));
  llvm::Value* shrink = ir.CreateSub(rounded, one);
  llvm::Value* grow = ir.CreateAdd(rounded, one);
  if (rounding == Rounding::kZero) {
    llvm::Value* too_large = ir.CreateFCmpOGT(ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                              ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, exact));
    return ir.CreateSelect(too_large, shrink, rounded);
  }
  const bool down = rounding == Rounding::kDown;
  llvm::Value* wrong = down ? ir.CreateFCmpOGT(back, exact) : ir.CreateFCmpOLT(back, exact);
  llvm::Value* moved = down ? ir.CreateSelect(negative, grow, shrink) : ir.CreateSelect(negative, shrink, grow);
  return ir.CreateSelect(wrong, moved, rounded);
}

}  // namespace

llvm::Value* IsNan(llvm::IRBuilder<>& ir, llvm::Value* x) { return ir.CreateFCmpUNO(x, Zero(x)); }

llvm::Value* FlushToZero(llvm::IRBuilder<>& ir, llvm::Value* x) { return MarkFlush(ir, x); }

llvm::Value* FlushF16ToZero(llvm::IRBuilder<>& ir, llvm::Value* half) {
  llvm::Value* small = ir.CreateIsNull(ir.CreateAnd(half, ir.getInt16(0x7c00)));
  return ir.CreateSelect(small, ir.CreateAnd(half, ir.getInt16(0x8000)), half);
}

llvm::Value* Saturate(llvm::IRBuilder<>& ir, llvm::Value* x) {
  llvm::Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
  x = ir.CreateSelect(ir.CreateFCmpOGT(x, Zero(x)), x, Zero(x));
  return ir.CreateSelect(ir.CreateFCmpOLT(x, one), x, one);
}

// A select on an ordered comparison is one machine instruction that gives b for NaN and for equal operands. Two cases
// are then corrected: b is NaN, and zeros of different sign. Constant operands make most of that unnecessary.
llvm::Value* FloatMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, MinMax mode) {
  if (llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  llvm::Value* better = mode.maximum ? ir.CreateFCmpOGT(a, b) : ir.CreateFCmpOLT(a, b);
  llvm::Value* result = ir.CreateSelect(better, a, b);
  // Of two zeros b is right if it is a constant of the sign that wins.
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(b);
  const bool winning_zero = constant != nullptr && constant->isZero() && constant->isNegative() != mode.maximum;
  if (!IsConstantNonzero(a) && !IsConstantNonzero(b) && !winning_zero) {
    llvm::Value* a_bits = Bits(ir, a);
    llvm::Value* b_bits = Bits(ir, b);
    llvm::Value* merged = mode.maximum ? ir.CreateAnd(a_bits, b_bits) : ir.CreateOr(a_bits, b_bits);
    result = ir.CreateSelect(ir.CreateFCmpOEQ(a, b), ir.CreateBitCast(merged, a->getType()), result);
  }
  if (mode.propagate_nan) {  // neither operand: the canonical NaN
    const bool is_single = a->getType()->isFloatTy();
    llvm::Constant* bits = llvm::ConstantInt::get(BitsType(ir, a), is_single ? 0x7fffffff : 0x7ff8000000000000);
    return ir.CreateSelect(ir.CreateFCmpUNO(a, b), ir.CreateBitCast(bits, a->getType()), result);
  }
  return ir.CreateSelect(IsNan(ir, b), a, result);
}

llvm::Value* F16ToF32(llvm::IRBuilder<>& ir, llvm::Value* half) {
  return ir.CreateFPExt(ir.CreateBitCast(half, ir.getHalfTy()), ir.getFloatTy());
}

llvm::Value* Bf16ToF32(llvm::IRBuilder<>& ir, llvm::Value* half) {
  return ir.CreateBitCast(ir.CreateShl(ir.CreateZExt(half, ir.getInt32Ty()), 16), ir.getFloatTy());
}

llvm::Value* F32ToF16(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding) {
  llvm::Value* half = ir.CreateFPTrunc(value, ir.getHalfTy());
  llvm::Value* back = ir.CreateFPExt(half, ir.getFloatTy());
  return Redirect(ir, ir.CreateBitCast(half, ir.getInt16Ty()), back, value, rounding);
}

llvm::Value* F32ToBf16(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding) {
  llvm::Value* bits = Bits(ir, value);
  llvm::Value* nan = IsNan(ir, value);
  llvm::Value* rounded;
  if (rounding == Rounding::kNearest) {
    llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(bits, 16), 1);
    rounded = ir.CreateLShr(ir.CreateAdd(bits, ir.CreateAdd(odd, ir.getInt32(0x7fff))), 16);
  } else {
    llvm::Value* truncated = ir.CreateLShr(bits, 16);
    rounded = truncated;
    if (rounding != Rounding::kZero) {
      llvm::Value* inexact = ir.CreateIsNotNull(ir.CreateAnd(bits, 0xffff));
      llvm::Value* negative = ir.CreateICmpSLT(bits, ir.getInt32(0));
      llvm::Value* away = rounding == Rounding::kDown ? negative : ir.CreateNot(negative);
      rounded = ir.CreateAdd(truncated, ir.CreateZExt(ir.CreateAnd(inexact, away), ir.getInt32Ty()));
    }
  }
  return ir.CreateSelect(nan, ir.getInt16(0x7fff), ir.CreateTrunc(rounded, ir.getInt16Ty()));
}

llvm::Value* F64ToF32(llvm::IRBuilder<>& ir, llvm::Value* value, Rounding rounding) {
  llvm::Value* single = ir.CreateFPTrunc(value, ir.getFloatTy());
  if (rounding == Rounding::kNearest) return single;
  llvm::Value* back = ir.CreateFPExt(single, ir.getDoubleTy());
  return ir.CreateBitCast(Redirect(ir, Bits(ir, single), back, value, rounding), ir.getFloatTy());
}

// What was rounded away is or-ed into the last bit of the number cut toward zero ("sticky bit"), which a rounding to at
// least two bits fewer cannot mistake for a tie.
llvm::Value* ToOdd(llvm::IRBuilder<>& ir, llvm::Value* nearest, llvm::Value* error) {
  llvm::Value* inexact = ir.CreateFCmpONE(error, Zero(error));  // false for NaN: infinities stay as they are
  llvm::Value* bits = Bits(ir, nearest);
  llvm::Value* error_bits = Bits(ir, error);
  if (error->getType()->isDoubleTy()) error_bits = ir.CreateTrunc(ir.CreateLShr(error_bits, 32), ir.getInt32Ty());
  // One less where the signs differ: it was rounded away from zero.
  llvm::Value* toward_zero = ir.CreateAdd(bits, ir.CreateAShr(ir.CreateXor(bits, error_bits), 31));
  return ir.CreateBitCast(ir.CreateSelect(inexact, ir.CreateOr(toward_zero, 1), bits), nearest->getType());
}

llvm::Value* F64ToF32Odd(llvm::IRBuilder<>& ir, llvm::Value* value) {
  llvm::Value* nearest = ir.CreateFPTrunc(value, ir.getFloatTy());
  return ToOdd(ir, nearest, ir.CreateFSub(value, ir.CreateFPExt(nearest, ir.getDoubleTy())));
}

llvm::Value* SaturateToInteger(llvm::IRBuilder<>& ir, llvm::Value* x, llvm::IntegerType* type, bool is_signed) {
  const unsigned bits = type->getBitWidth(), magnitude_bits = is_signed ? bits - 1 : bits;
  llvm::Type* real = x->getType();
  const llvm::fltSemantics& format = real->getFltSemantics();
  const auto constant = [&](const llvm::APInt& value, llvm::APFloat::roundingMode rounding) {
    llvm::APFloat number(format);
    number.convertFromAPInt(value, is_signed, rounding);
    return llvm::ConstantFP::get(real, number);
  };
  const llvm::APInt lowest = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  const llvm::APInt highest = llvm::APInt::getLowBitsSet(bits, magnitude_bits);
  // Two selects that are one instruction each, and let no NaN pass.
  llvm::Value* low = constant(lowest, llvm::APFloat::rmNearestTiesToEven);
  llvm::Value* high = constant(highest, llvm::APFloat::rmTowardZero);
  llvm::Value* clamped = ir.CreateSelect(ir.CreateFCmpOGT(x, low), x, low);
  clamped = ir.CreateSelect(ir.CreateFCmpOLT(clamped, high), clamped, high);
  llvm::IntegerType* wide = bits < 32 ? ir.getInt32Ty() : type;  // vectors have no conversions to narrower ones
  llvm::Value* result = is_signed || bits < 32 ? ir.CreateFPToSI(clamped, wide) : ir.CreateFPToUI(clamped, wide);
  if (magnitude_bits > llvm::APFloat::semanticsPrecision(format)) {  // `high` is below the highest integer
    result = ir.CreateSelect(ir.CreateFCmpOGT(x, high), llvm::ConstantInt::get(wide, highest), result);
  }
  return ir.CreateTrunc(result, type);
}

}  // namespace tutti::compiler::lowering
