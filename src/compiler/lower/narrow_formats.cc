#include "compiler/lower/narrow_formats.h"

#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// e4m3 has no infinity and one NaN (0x7f); e5m2 is the upper half of f16.
struct Format {
  unsigned mantissa;
  int bias;
  double largest;
};
constexpr Format kE4M3 = {3, 7, 448};
constexpr Format kE5M2 = {2, 15, 57344};

Format FormatOf(T type) { return type == T::kE4M3x2 ? kE4M3 : kE5M2; }

// Nearest even, what is too large becomes the largest finite number (.satfinite). i32 with the code in the low 8 bits.
llvm::Value* Encode(Emitter& e, llvm::Value* x, const Format& format) {
  auto& ir = e.ir;
  llvm::Type* single = ir.getFloatTy();
  llvm::Value* sign = ir.CreateAnd(ir.CreateLShr(AsBits(ir, x), 24), 0x80);
  llvm::Value* nan = IsNan(ir, x);
  llvm::Value* largest = llvm::ConstantFP::get(single, format.largest);
  llvm::Value* magnitude = e.Intrinsic(llvm::Intrinsic::fabs, {x});
  magnitude = ir.CreateSelect(ir.CreateFCmpOLT(magnitude, largest), magnitude, largest);
  const unsigned drop = 23 - format.mantissa;
  llvm::Value* bits = AsBits(ir, magnitude);
  llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(bits, drop), 1);
  llvm::Value* rounded = ir.CreateAdd(bits, ir.CreateAdd(odd, ir.getInt32((1u << (drop - 1)) - 1)));
  const auto rebias = static_cast<uint32_t>(127 - format.bias) << format.mantissa;
  llvm::Value* normal = ir.CreateSub(ir.CreateLShr(rounded, drop), ir.getInt32(rebias));
  // Below the normal range: adding a power of two whose last place is the smallest subnormal rounds to it.
  const auto anchor_bits = static_cast<uint32_t>(127 + 1 - format.bias + static_cast<int>(drop)) << 23;
  llvm::Value* anchor = ir.CreateBitCast(ir.getInt32(anchor_bits), single);
  llvm::Value* subnormal = ir.CreateSub(AsBits(ir, ir.CreateFAdd(magnitude, anchor)), ir.getInt32(anchor_bits));
  const auto smallest_normal = static_cast<uint32_t>(127 + 1 - format.bias) << 23;
  llvm::Value* code = ir.CreateSelect(ir.CreateICmpULT(bits, ir.getInt32(smallest_normal)), subnormal, normal);
  return ir.CreateOr(ir.CreateSelect(nan, ir.getInt32(0x7f), code), sign);
}

// f16 bits, in i32.
llvm::Value* Decode(Emitter& e, llvm::Value* code, T type) {
  auto& ir = e.ir;
  if (type == T::kE5M2x2) return ir.CreateShl(code, 8);
  llvm::Value* sign = ir.CreateShl(ir.CreateAnd(code, 0x80), 8);
  llvm::Value* rest = ir.CreateAnd(code, 0x7f);
  // As an f16 with the exponent of e4m3 the number is 2^8 too small, subnormal or not.
  llvm::Value* small = ir.CreateTrunc(ir.CreateShl(rest, 7), ir.getInt16Ty());
  llvm::Value* value = ir.CreateFMul(F16ToF32(ir, small), llvm::ConstantFP::get(ir.getFloatTy(), 256.0));
  llvm::Value* half = ir.CreateZExt(F32ToF16(ir, value, Rounding::kNearest), ir.getInt32Ty());
  half = ir.CreateSelect(ir.CreateICmpEQ(rest, ir.getInt32(0x7f)), ir.getInt32(0x7fff), half);
  return ir.CreateOr(half, sign);
}

// 10 bits of mantissa: ties away from zero (.rna), to even (.rn) or cut (.rz).
void ToTf32(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* x = e.In(1, T::kF32);
  llvm::Value* bits = AsBits(ir, x);
  llvm::Value* bump = ir.getInt32(0x1000);
  if (e.Has(M::kRz)) bump = ir.getInt32(0);
  if (e.Has(M::kRn)) bump = ir.CreateAdd(ir.getInt32(0xfff), ir.CreateAnd(ir.CreateLShr(bits, 13), 1));
  llvm::Value* rounded = ir.CreateAnd(ir.CreateAdd(bits, bump), 0xffffe000);
  llvm::Value* finite = ir.CreateICmpNE(ir.CreateAnd(bits, 0x7f800000), ir.getInt32(0x7f800000));
  llvm::Value* result = ir.CreateSelect(finite, rounded, ir.CreateSelect(IsNan(ir, x), ir.getInt32(0x7fffffff), bits));
  if (e.Has(M::kRelu)) result = ir.CreateSelect(ir.CreateICmpSLT(bits, ir.getInt32(0)), ir.getInt32(0), result);
  if (e.Has(M::kSatfinite)) return e.Refuse("cvt.satfinite to this type");
  e.Out(result, T::kB32);
}

llvm::Value* ReluOf(Emitter& e, llvm::Value* x) {
  llvm::Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
  return e.Has(M::kRelu) ? e.ir.CreateSelect(e.ir.CreateFCmpOLE(x, zero), zero, x) : x;
}

void ToPair(Emitter& e, T to, T from) {
  llvm::Value* high;
  llvm::Value* low;
  if (from == T::kF32) {
    high = e.In(1, T::kF32);
    low = e.In(2, T::kF32);
  } else if (IsHalfPair(from)) {
    llvm::Value* pair = e.In(1, T::kB32);
    llvm::Value* upper = e.ir.CreateTrunc(e.ir.CreateLShr(pair, 16), e.ir.getInt16Ty());
    llvm::Value* lower = e.ir.CreateTrunc(pair, e.ir.getInt16Ty());
    high = IsBfloat(from) ? Bf16ToF32(e.ir, upper) : F16ToF32(e.ir, upper);
    low = IsBfloat(from) ? Bf16ToF32(e.ir, lower) : F16ToF32(e.ir, lower);
  } else {
    return e.Refuse("conversion between these types is not supported");
  }
  llvm::Value* code = e.ir.CreateOr(e.ir.CreateShl(Encode(e, ReluOf(e, high), FormatOf(to)), 8),
                                    Encode(e, ReluOf(e, low), FormatOf(to)));
  e.Out(e.ir.CreateTrunc(code, e.ir.getInt16Ty()), T::kB16);
}

}  // namespace

void EmitCvtNarrow(Emitter& e) {
  const T to = e.type(0), from = e.type(1);
  if (to == T::kTF32 && from == T::kF32) return ToTf32(e);
  if (IsNarrowFormat(to)) return ToPair(e, to, from);
  if (to != T::kF16x2) return e.Refuse("conversion between these types is not supported");
  llvm::Value* pair = e.ir.CreateZExt(e.In(1, T::kB16), e.ir.getInt32Ty());
  llvm::Value* low = Decode(e, e.ir.CreateAnd(pair, 0xff), from);
  llvm::Value* high = Decode(e, e.ir.CreateLShr(pair, 8), from);
  e.Out(e.ir.CreateOr(e.ir.CreateShl(high, 16), low), T::kB32);
}

}  // namespace tutti::compiler::lowering
