// cvt between numbers. Any float is first widened to f32 or f64, exactly; then rounded to an integral value if the
// instruction says so; then saturated; then narrowed with one rounding.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"
#include "compiler/lower/integer.h"
#include "compiler/lower/narrow_formats.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

Rounding RoundingOf(const Emitter& e) {
  return e.Has(M::kRz)   ? Rounding::kZero
         : e.Has(M::kRm) ? Rounding::kDown
         : e.Has(M::kRp) ? Rounding::kUp
                         : Rounding::kNearest;
}

bool RoundsToIntegral(const Emitter& e) { return e.Has(M::kRni) || e.Has(M::kRzi) || e.Has(M::kRmi) || e.Has(M::kRpi); }

llvm::Value* ToIntegral(Emitter& e, llvm::Value* x) {
  if (e.Has(M::kRni)) return e.Intrinsic(llvm::Intrinsic::roundeven, {x});
  if (e.Has(M::kRzi)) return e.Intrinsic(llvm::Intrinsic::trunc, {x});
  if (e.Has(M::kRmi)) return e.Intrinsic(llvm::Intrinsic::floor, {x});
  return e.Has(M::kRpi) ? e.Intrinsic(llvm::Intrinsic::ceil, {x}) : x;
}

bool IsScalarFloat(T type) { return IsWideFloat(type) || IsHalf(type); }

// An operand as f32 or f64.
llvm::Value* ReadFloat(Emitter& e, size_t n, T type) {
  llvm::Value* x = e.In(n, type);
  if (type == T::kF16) return F16ToF32(e.ir, x);
  if (type == T::kBF16) return Bf16ToF32(e.ir, x);
  if (type == T::kF32 && e.Has(M::kFtz)) return FlushToZero(e.ir, x);
  return x;
}

// f32 or f64 to any float type, rounded once.
llvm::Value* NarrowTo(Emitter& e, llvm::Value* x, T type, Rounding rounding) {
  const bool is_double = x->getType()->isDoubleTy();
  if (type == T::kF64) return is_double ? x : e.ir.CreateFPExt(x, e.ir.getDoubleTy());
  if (type == T::kF32) {
    if (is_double) x = F64ToF32(e.ir, x, rounding);
    return e.Has(M::kFtz) ? FlushToZero(e.ir, x) : x;
  }
  if (is_double) x = rounding == Rounding::kNearest ? F64ToF32Odd(e.ir, x) : F64ToF32(e.ir, x, rounding);
  return type == T::kF16 ? F32ToF16(e.ir, x, rounding) : F32ToBf16(e.ir, x, rounding);
}

llvm::Value* Relu(Emitter& e, llvm::Value* x) {
  llvm::Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
  return e.ir.CreateSelect(e.ir.CreateFCmpOLE(x, zero), zero, x);
}

// .satfinite: what is beyond the largest number of a half becomes that number.
llvm::Value* Limit(Emitter& e, llvm::Value* x, T half) {
  const uint32_t largest_bits = half == T::kF16 ? 0x477fe000 : 0x7f7f0000;
  llvm::Value* largest = e.ir.CreateBitCast(e.ir.getInt32(largest_bits), x->getType());
  llvm::Value* beyond = e.ir.CreateFCmpOGT(e.Intrinsic(llvm::Intrinsic::fabs, {x}), largest);
  return e.ir.CreateSelect(beyond, e.Intrinsic(llvm::Intrinsic::copysign, {largest, x}), x);
}

void FloatToFloat(Emitter& e, T to, T from) {
  llvm::Value* x = ToIntegral(e, ReadFloat(e, 1, from));
  if (e.Has(M::kSat)) x = Saturate(e.ir, x);
  if (e.Has(M::kRelu)) x = Relu(e, x);
  if (from == T::kF32 && IsHalf(to) && e.Has(M::kSatfinite)) x = Limit(e, x, to);
  e.Out(NarrowTo(e, x, to, RoundingOf(e)), to);
}

void FloatToInteger(Emitter& e, T to, T from) {
  if (!RoundsToIntegral(e)) return e.Invalid("cvt from float to integer needs .rni, .rzi, .rmi or .rpi");
  llvm::Value* x = ReadFloat(e, 1, from);
  if (!e.Has(M::kRzi)) x = ToIntegral(e, x);  // what follows rounds toward zero
  static_cast<void>(e.Has(M::kSat));  // it saturates with and without
  auto* type = llvm::cast<llvm::IntegerType>(TypeOf(e.context(), to));
  llvm::Value* result = SaturateToInteger(e.ir, x, type, ptx::IsSigned(to));
  // NaN is zero in conversions of 32 bits and less; where 64 bits take part it is the top bit alone.
  const uint32_t bits = ptx::BitsOf(to);
  const bool top = from == T::kF64 || bits == 64;
  if (top != ptx::IsSigned(to)) {
    const llvm::APInt nan = top ? llvm::APInt::getSignMask(bits) : llvm::APInt::getZero(bits);
    result = e.ir.CreateSelect(IsNan(e.ir, x), llvm::ConstantInt::get(type, nan), result);
  }
  e.Out(result, to);
}

// An integer cut to the 24 or 53 leading bits that a float type holds, so that converting it is exact. What is cut off
// is rounded by `rounding`, or (odd) leaves its mark in the last bit that is kept.
struct Cut {
  llvm::Value* magnitude;  // i64
  llvm::Value* inexact;
};
Cut CutTo(Emitter& e, llvm::Value* magnitude, unsigned digits) {
  auto& ir = e.ir;
  llvm::Value* zeros = ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, ir.getFalse());
  llvm::Value* drop = ir.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, ir.getInt64(64 - digits), zeros);
  llvm::Value* unit = ir.CreateShl(ir.getInt64(1), drop);
  llvm::Value* kept = ir.CreateAnd(magnitude, ir.CreateNeg(unit));
  return {kept, ir.CreateICmpNE(kept, magnitude)};
}

llvm::Value* IntegerToFloat(Emitter& e, llvm::Value* x, bool is_signed, T to, Rounding rounding) {
  auto& ir = e.ir;
  llvm::Type* type = to == T::kF64 ? ir.getDoubleTy() : ir.getFloatTy();
  if (rounding == Rounding::kNearest && IsWideFloat(to)) {
    return is_signed ? ir.CreateSIToFP(x, type) : ir.CreateUIToFP(x, type);
  }
  // f32 holds these; to f16, all beyond 2^17 are rounded alike.
  const unsigned bits_of_x = x->getType()->getIntegerBitWidth();
  if (!IsWideFloat(to) && (to == T::kF16 || bits_of_x <= 16)) {
    if (bits_of_x > 16) {
      constexpr int kMost = 1 << 17;
      x = IntegerMinMax(ir, x, llvm::ConstantInt::get(x->getType(), kMost), is_signed, false);
      if (is_signed) x = IntegerMinMax(ir, x, llvm::ConstantInt::getSigned(x->getType(), -kMost), true, true);
      x = ir.CreateTrunc(x, ir.getInt32Ty());
    }
    return is_signed ? ir.CreateSIToFP(x, type) : ir.CreateUIToFP(x, type);
  }
  x = is_signed ? ir.CreateSExt(x, ir.getInt64Ty()) : ir.CreateZExt(x, ir.getInt64Ty());
  llvm::Value* negative = is_signed ? ir.CreateICmpSLT(x, ir.getInt64(0)) : ir.getFalse();
  llvm::Value* magnitude = is_signed ? IntegerAbs(ir, x) : x;
  const Cut cut = CutTo(e, magnitude, to == T::kF64 ? 53 : 24);
  llvm::Value* exact = ir.CreateUIToFP(cut.magnitude, type);
  llvm::Value* bits = AsBits(ir, exact);
  llvm::Value* bump = cut.inexact;  // one unit in the last place: away from zero, or to odd
  if (IsWideFloat(to)) {
    llvm::Value* away = rounding == Rounding::kZero   ? static_cast<llvm::Value*>(ir.getFalse())
                        : rounding == Rounding::kDown ? negative
                                                      : ir.CreateNot(negative);
    bump = ir.CreateAnd(bump, away);
    bits = ir.CreateAdd(bits, ir.CreateZExt(bump, bits->getType()));
  } else {
    bits = ir.CreateOr(bits, ir.CreateZExt(bump, bits->getType()));
  }
  llvm::Value* result = ir.CreateBitCast(bits, type);
  return ir.CreateSelect(negative, ir.CreateFNeg(result), result);
}

void IntegerToFloat(Emitter& e, T to, T from) {
  llvm::Value* x = IntegerToFloat(e, e.In(1, from), ptx::IsSigned(from), to, RoundingOf(e));
  if (e.Has(M::kSat)) x = Saturate(e.ir, x);
  e.Out(NarrowTo(e, x, to, RoundingOf(e)), to);
}

// The value clamped to what `to` can hold, still in the width of `from`.
llvm::Value* ClampInteger(Emitter& e, llvm::Value* x, T to, T from) {
  const unsigned width = ptx::BitsOf(from), target = ptx::BitsOf(to);
  const bool source_signed = ptx::IsSigned(from), target_signed = ptx::IsSigned(to);
  const auto constant = [&](llvm::APInt value) { return llvm::ConstantInt::get(e.context(), value); };
  const unsigned magnitude = target_signed ? target - 1 : target;  // bits of the largest value
  const unsigned room = source_signed ? width - 1 : width;
  if (magnitude < room)
    x = IntegerMinMax(e.ir, x, constant(llvm::APInt::getLowBitsSet(width, magnitude)), source_signed, false);
  if (!source_signed) return x;
  if (!target_signed) return IntegerMinMax(e.ir, x, constant(llvm::APInt::getZero(width)), true, true);
  if (target < width)
    x = IntegerMinMax(e.ir, x, constant(llvm::APInt::getSignedMinValue(target).sext(width)), true, true);
  return x;
}

void IntegerToInteger(Emitter& e, T to, T from) {
  llvm::Value* x = e.In(1, from);
  if (e.Has(M::kSat)) x = ClampInteger(e, x, to, from);
  e.Out(Reinterpret(e.ir, x, TypeOf(e.context(), to), ptx::IsSigned(from)), to);
}

// cvt.f16x2.f32 d, a, b: a becomes the upper half.
void PackHalves(Emitter& e, T to) {
  const T half = to == T::kF16x2 ? T::kF16 : T::kBF16;
  llvm::Type* word = e.ir.getInt32Ty();
  llvm::Value* parts[2];
  for (size_t n = 0; n < 2; ++n) {
    llvm::Value* x = ReadFloat(e, n + 1, T::kF32);
    if (e.Has(M::kRelu)) x = Relu(e, x);
    if (e.Has(M::kSatfinite)) x = Limit(e, x, half);
    parts[n] = e.ir.CreateZExt(NarrowTo(e, x, half, RoundingOf(e)), word);
  }
  e.Out(e.ir.CreateOr(e.ir.CreateShl(parts[0], 16), parts[1]), T::kB32);
}

}  // namespace

void EmitCvt(Emitter& e) {
  const T to = e.type(0), from = e.type(1);
  if (e.Has(M::kPack)) return EmitCvtPack(e);
  if (e.instruction().types.size() != 2) return e.Refuse("cvt takes two types");
  if (e.Has(M::kRs)) return EmitCvtStochastic(e);
  if (IsNarrowFormat(to) || IsNarrowFormat(from) || to == T::kTF32) return EmitCvtNarrow(e);
  if (IsHalfPair(to) && from == T::kF32) return PackHalves(e, to);
  if (IsScalarFloat(to) && IsScalarFloat(from)) return FloatToFloat(e, to, from);
  if (IsScalarFloat(to) && IsInteger(from)) return IntegerToFloat(e, to, from);
  if (IsInteger(to) && IsScalarFloat(from)) return FloatToInteger(e, to, from);
  if (IsInteger(to) && IsInteger(from)) return IntegerToInteger(e, to, from);
  e.Refuse("conversion between these types is not supported");
}

}  // namespace tutti::compiler::lowering
