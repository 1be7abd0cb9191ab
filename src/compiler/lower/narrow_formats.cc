#include "compiler/lower/narrow_formats.h"

#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// Sign, exponent, mantissa, with subnormals. e4m3 has no infinity and one NaN, e5m2 is the upper half of f16, the
// others have neither.
struct Format {
  T pair;
  unsigned mantissa;
  int bias;
  double largest;
  unsigned sign;   // place of its bit
  unsigned width;  // of each in a pair
  unsigned nan;    // the lowest code of a NaN, 0 if there is none
};
constexpr Format kFormats[] = {
    {T::kE4M3x2, 3, 7, 448, 7, 8, 0x7f}, {T::kE5M2x2, 2, 15, 57344, 7, 8, 0x7d}, {T::kE2M3x2, 3, 1, 7.5, 5, 8, 0},
    {T::kE3M2x2, 2, 3, 28, 5, 8, 0},     {T::kE2M1x2, 1, 1, 6, 3, 4, 0},
};

const Format* FormatOf(T type) {
  for (const Format& format : kFormats) {
    if (format.pair == type) return &format;
  }
  return nullptr;
}

// Nearest even, what is too large becomes the largest finite number (.satfinite). i32 with the code in the low bits.
llvm::Value* Encode(Emitter& e, llvm::Value* x, const Format& format) {
  auto& ir = e.ir;
  llvm::Type* single = ir.getFloatTy();
  llvm::Value* sign = ir.CreateShl(ir.CreateLShr(AsBits(ir, x), 31), format.sign);
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
  code = ir.CreateOr(code, sign);
  // NaN where there is one, else the largest number: either is all ones but the sign (6.0 and its like are 0.11..1).
  return ir.CreateSelect(nan, ir.getInt32((1u << format.sign) - 1), code);
}

// f16 bits, in i32. A NaN is the canonical one.
llvm::Value* Decode(Emitter& e, llvm::Value* code, const Format& format) {
  auto& ir = e.ir;
  llvm::Value* sign = ir.CreateShl(ir.CreateAnd(ir.CreateLShr(code, format.sign), 1), 15);
  llvm::Value* rest = ir.CreateAnd(code, (1u << format.sign) - 1);
  // As an f16 with the exponent of the format the number is too small by the difference of biases, subnormal or not.
  llvm::Value* half = ir.CreateShl(rest, 10 - format.mantissa);
  if (format.bias != 15) {
    const auto scale = static_cast<double>(1u << (15 - format.bias));
    llvm::Value* small = F16ToF32(ir, ir.CreateTrunc(half, ir.getInt16Ty()));
    llvm::Value* value = ir.CreateFMul(small, llvm::ConstantFP::get(ir.getFloatTy(), scale));
    half = ir.CreateZExt(F32ToF16(ir, value, Rounding::kNearest), ir.getInt32Ty());
  }
  half = ir.CreateOr(half, sign);
  if (format.nan == 0) return half;
  return ir.CreateSelect(ir.CreateICmpUGE(rest, ir.getInt32(format.nan)), ir.getInt32(0x7fff), half);
}

// ue8m0 is the exponent of an f32: 2^(code - 127), 255 for NaN. Magnitudes are rounded toward zero or (.rp) upwards;
// what has no exponent of its own is 2^-127.
llvm::Value* EncodeExponent(Emitter& e, llvm::Value* x) {
  auto& ir = e.ir;
  llvm::Value* bits = ir.CreateAnd(AsBits(ir, x), 0x7fffffff);
  llvm::Value* code = ir.CreateLShr(bits, 23);
  if (e.Has(M::kRp)) {
    llvm::Value* inexact = ir.CreateIsNotNull(ir.CreateAnd(bits, 0x7fffff));
    llvm::Value* rounds =
        ir.CreateAnd(ir.CreateICmpUGT(bits, ir.getInt32(0x400000)), ir.CreateICmpULT(bits, ir.getInt32(0x7f800000)));
    code = ir.CreateAdd(code, ir.CreateZExt(ir.CreateAnd(inexact, rounds), ir.getInt32Ty()));
  } else if (!e.Has(M::kRz)) {
    e.Invalid("exponents are rounded by .rz or .rp");
  }
  if (!e.Has(M::kSatfinite)) return code;
  llvm::Value* largest = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code, ir.getInt32(0xfe));
  return ir.CreateSelect(IsNan(ir, x), ir.getInt32(0xff), largest);
}

// bf16 bits, in i32.
llvm::Value* DecodeExponent(Emitter& e, llvm::Value* code) {
  auto& ir = e.ir;
  llvm::Value* power = ir.CreateSelect(ir.CreateIsNull(code), ir.getInt32(0x40), ir.CreateShl(code, 7));
  return ir.CreateSelect(ir.CreateICmpEQ(code, ir.getInt32(0xff)), ir.getInt32(0x7fff), power);
}

// 10 bits of mantissa: ties away from zero (.rna), to even (.rn) or cut (.rz).
void ToTf32(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* x = e.In(1, T::kF32);
  llvm::Value* bits = AsBits(ir, x);
  llvm::Value* bump = ir.getInt32(0);
  if (e.Has(M::kRna))
    bump = ir.getInt32(0x1000);
  else if (e.Has(M::kRn))
    bump = ir.CreateAdd(ir.getInt32(0xfff), ir.CreateAnd(ir.CreateLShr(bits, 13), 1));
  else if (!e.Has(M::kRz))
    return e.Invalid("tf32 is rounded by .rna, .rn or .rz");
  llvm::Value* rounded = ir.CreateAnd(ir.CreateAdd(bits, bump), 0xffffe000);
  llvm::Value* finite = ir.CreateICmpNE(ir.CreateAnd(bits, 0x7f800000), ir.getInt32(0x7f800000));
  llvm::Value* result = ir.CreateSelect(finite, rounded, bits);
  if (e.Has(M::kSatfinite)) {
    llvm::Value* sign = ir.CreateAnd(result, 0x80000000);
    llvm::Value* magnitude = ir.CreateAnd(result, 0x7fffffff);
    magnitude = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, magnitude, ir.getInt32(0x7f7fe000));
    result = ir.CreateOr(sign, magnitude);
  }
  if (e.Has(M::kRelu)) result = ir.CreateSelect(ir.CreateICmpSLT(bits, ir.getInt32(0)), ir.getInt32(0), result);
  e.Out(ir.CreateSelect(IsNan(ir, x), ir.getInt32(0x7fffffff), result), T::kB32);
}

llvm::Value* ReluOf(Emitter& e, llvm::Value* x) {
  llvm::Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
  return e.Has(M::kRelu) ? e.ir.CreateSelect(e.ir.CreateFCmpOLE(x, zero), zero, x) : x;
}

// The two sources of a pair as f32, the upper first: two registers, or the halves of one.
bool ReadPair(Emitter& e, T from, llvm::Value* parts[2]) {
  if (from == T::kF32) {
    parts[0] = e.In(1, T::kF32);
    parts[1] = e.In(2, T::kF32);
    return true;
  }
  if (!IsHalfPair(from)) return false;
  llvm::Value* pair = e.In(1, T::kB32);
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* half = e.ir.CreateTrunc(e.ir.CreateLShr(pair, 16 * (1 - i)), e.ir.getInt16Ty());
    parts[i] = IsBfloat(from) ? Bf16ToF32(e.ir, half) : F16ToF32(e.ir, half);
  }
  return true;
}

void ToPair(Emitter& e, T to, T from) {
  llvm::Value* parts[2];
  if (!ReadPair(e, from, parts)) return e.Refuse("conversion between these types is not supported");
  const Format* format = FormatOf(to);
  if (format != nullptr && !e.Has(M::kSatfinite)) return e.Invalid("this conversion needs .satfinite");
  llvm::Value* codes[2];
  for (unsigned i = 0; i < 2; ++i) {
    codes[i] = format == nullptr ? EncodeExponent(e, parts[i]) : Encode(e, ReluOf(e, parts[i]), *format);
  }
  const unsigned width = format == nullptr ? 8 : format->width;
  llvm::Value* code = e.ir.CreateOr(e.ir.CreateShl(codes[0], width), codes[1]);
  e.Out(e.ir.CreateTrunc(code, e.ir.getIntNTy(2 * width)), width == 4 ? T::kB8 : T::kB16);
}

// Of f16 bits in i32: negative numbers become zero, NaN the canonical one.
llvm::Value* ReluOfHalf(Emitter& e, llvm::Value* half) {
  auto& ir = e.ir;
  llvm::Value* nan = ir.CreateICmpUGT(ir.CreateAnd(half, 0x7fff), ir.getInt32(0x7c00));
  llvm::Value* negative = ir.CreateIsNotNull(ir.CreateAnd(half, 0x8000));
  return ir.CreateSelect(nan, ir.getInt32(0x7fff), ir.CreateSelect(negative, ir.getInt32(0), half));
}

void FromPair(Emitter& e, T to, T from) {
  const Format* format = FormatOf(from);
  if (to != (format == nullptr ? T::kBF16x2 : T::kF16x2)) {
    return e.Refuse("conversion between these types is not supported");
  }
  const unsigned width = format == nullptr ? 8 : format->width;
  llvm::Value* pair = e.ir.CreateZExt(e.In(1, width == 4 ? T::kB8 : T::kB16), e.ir.getInt32Ty());
  llvm::Value* word = e.ir.getInt32(0);
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* code = e.ir.CreateAnd(e.ir.CreateLShr(pair, width * i), (1u << width) - 1);
    llvm::Value* half = format == nullptr ? DecodeExponent(e, code) : Decode(e, code, *format);
    if (format != nullptr && e.Has(M::kRelu)) half = ReluOfHalf(e, half);
    word = e.ir.CreateOr(word, e.ir.CreateShl(half, 16 * i));
  }
  e.Out(word, T::kB32);
}

}  // namespace

bool IsNarrowFormat(T type) { return type == T::kUE8M0x2 || FormatOf(type) != nullptr; }

void EmitCvtNarrow(Emitter& e) {
  const T to = e.type(0), from = e.type(1);
  if (to == T::kTF32 && from == T::kF32) return ToTf32(e);
  if (IsNarrowFormat(to)) return ToPair(e, to, from);
  if (IsNarrowFormat(from)) return FromPair(e, to, from);
  e.Refuse("conversion between these types is not supported");
}

}  // namespace tutti::compiler::lowering
