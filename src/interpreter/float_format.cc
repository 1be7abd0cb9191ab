#include "interpreter/float_format.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>

namespace tutti::interpreter {
namespace {

int HostMode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
    case Rounding::kOdd: return FE_TOWARDZERO;
    case Rounding::kDown: return FE_DOWNWARD;
    case Rounding::kUp: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

// In double precision with the processor's rounding `mode`; `inexact`: whether anything was lost.
[[gnu::noinline]] double InMode(int mode, FloatOperation operation, double a, double b, double c, bool* inexact) {
  volatile double x = a, y = b, z = c, result = 0;
  std::fesetround(mode);
  std::feclearexcept(FE_ALL_EXCEPT);
  switch (operation) {
    case FloatOperation::kAdd: result = x + y; break;
    case FloatOperation::kMultiply: result = x * y; break;
    case FloatOperation::kMultiplyAdd: result = std::fma(x, y, z); break;
    case FloatOperation::kDivide: result = x / y; break;
    case FloatOperation::kRoot: result = std::sqrt(x); break;
  }
  *inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(FE_TONEAREST);
  return result;
}

bool RoundsUp(Rounding rounding, bool negative, bool odd, int against_half, bool exact) {
  switch (rounding) {
    case Rounding::kNearestEven: return against_half > 0 || (against_half == 0 && odd);
    case Rounding::kNearestAway: return against_half >= 0;
    case Rounding::kDown: return negative && !exact;
    case Rounding::kUp: return !negative && !exact;
    case Rounding::kOdd: return !odd && !exact;
    case Rounding::kZero: return false;
  }
  return false;
}

}  // namespace

const FloatFormat* FormatOf(Type type) {
  switch (type) {
    case Type::kF64: return &kF64;
    case Type::kF32:
    case Type::kF32x2: return &kF32;
    case Type::kTF32: return &kTf32;
    case Type::kF16:
    case Type::kF16x2: return &kF16;
    case Type::kBF16:
    case Type::kBF16x2: return &kBF16;
    case Type::kE4M3:
    case Type::kE4M3x2:
    case Type::kE4M3x4: return &kE4M3;
    case Type::kE5M2:
    case Type::kE5M2x2:
    case Type::kE5M2x4: return &kE5M2;
    case Type::kE3M2:
    case Type::kE3M2x2:
    case Type::kE3M2x4: return &kE3M2;
    case Type::kE2M3:
    case Type::kE2M3x2:
    case Type::kE2M3x4: return &kE2M3;
    case Type::kE2M1:
    case Type::kE2M1x2:
    case Type::kE2M1x4: return &kE2M1;
    default: return nullptr;
  }
}

Rounding RoundingOf(Step& step) {
  step.Accept({Modifier::kRn, Modifier::kRni});
  if (step.Has(Modifier::kRz) || step.Has(Modifier::kRzi)) return Rounding::kZero;
  if (step.Has(Modifier::kRm) || step.Has(Modifier::kRmi)) return Rounding::kDown;
  if (step.Has(Modifier::kRp) || step.Has(Modifier::kRpi)) return Rounding::kUp;
  if (step.Has(Modifier::kRna)) return Rounding::kNearestAway;
  return Rounding::kNearestEven;
}

bool IsNan(const FloatFormat& format, uint64_t bits) {
  const uint64_t magnitude = bits & (format.sign() - 1);
  return format.infinity != 0 ? magnitude > format.infinity
                              : format.canonical_nan != 0 && magnitude == format.canonical_nan;
}

bool IsSubnormal(const FloatFormat& format, uint64_t bits) {
  const uint64_t magnitude = bits & (format.sign() - 1);
  return magnitude != 0 && magnitude >> format.fraction_bits == 0;
}

uint64_t Flush(const FloatFormat& format, uint64_t bits) {
  return IsSubnormal(format, bits) ? bits & format.sign() : bits;
}

double ToDouble(const FloatFormat& format, uint64_t bits) {
  const bool negative = (bits & format.sign()) != 0;
  const uint64_t magnitude = bits & (format.sign() - 1);
  double value;
  if (IsNan(format, bits)) {
    value = std::nan("");
  } else if (format.infinity != 0 && magnitude == format.infinity) {
    value = HUGE_VAL;
  } else {
    const uint64_t fraction = magnitude & ((uint64_t{1} << format.fraction_bits) - 1),
                   exponent = magnitude >> format.fraction_bits;
    const uint64_t whole = exponent == 0 ? fraction : fraction | uint64_t{1} << format.fraction_bits;
    value = std::ldexp(static_cast<double>(whole), static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias() -
                                                       static_cast<int>(format.fraction_bits));
  }
  return negative ? -value : value;
}

uint64_t FromDouble(const FloatFormat& format, double value, Rounding rounding, bool saturate) {
  if (format == kF64) return std::isnan(value) ? kF64.canonical_nan : std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) return format.canonical_nan != 0 ? format.canonical_nan : format.largest;
  const bool negative = std::signbit(value);
  const uint64_t sign = negative ? format.sign() : 0;
  if (std::isinf(value))
    return sign | (format.infinity != 0 && !saturate ? format.infinity
                   : saturate                        ? format.largest
                                                     : format.canonical_nan);
  if (value == 0) return sign;
  int exponent;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [1/2, 1)
  auto significand = static_cast<uint64_t>(std::ldexp(fraction, 53));
  const int least = 1 - format.bias(), fraction_bits = static_cast<int>(format.fraction_bits);
  const int quantum = std::max(exponent - 1, least) - fraction_bits;  // the value of the last place
  const int lost = quantum - (exponent - 53);                        // bits of the significand behind it
  uint64_t kept = lost > 62 ? 0 : significand >> lost;
  const uint64_t rest = lost > 62 ? 1 : significand & ((uint64_t{1} << lost) - 1);
  const uint64_t half = lost > 62 ? 2 : uint64_t{1} << (lost - 1);
  if (RoundsUp(rounding, negative, (kept & 1) != 0, rest > half ? 1 : rest == half ? 0 : -1, rest == 0)) ++kept;
  const uint64_t magnitude = kept >> fraction_bits == 0
                                 ? kept
                                 : (static_cast<uint64_t>(quantum - least + fraction_bits) << fraction_bits) + kept;
  if (magnitude <= format.largest) return sign | magnitude;
  const bool towards_zero = rounding == Rounding::kZero || rounding == Rounding::kOdd ||
                            (rounding == Rounding::kDown && !negative) || (rounding == Rounding::kUp && negative);
  if (saturate || towards_zero) return sign | format.largest;
  return sign | (format.infinity != 0 ? format.infinity : format.canonical_nan);
}

uint64_t ClampToUnit(const FloatFormat& format, uint64_t bits) {
  const double value = ToDouble(format, bits);
  if (!(value > 0)) return 0;
  return value > 1 ? FromDouble(format, 1, Rounding::kNearestEven) : bits;
}

uint64_t ChooseFloat(const FloatFormat& format, uint64_t a, uint64_t b, bool max, bool keep_nan) {
  const bool a_nan = IsNan(format, a), b_nan = IsNan(format, b);
  if ((keep_nan && (a_nan || b_nan)) || (a_nan && b_nan)) return format.canonical_nan;
  if (a_nan || b_nan) return a_nan ? b : a;
  const double x = ToDouble(format, a), y = ToDouble(format, b);
  if (x == y) return ((a & format.sign()) != 0) == max ? b : a;  // -0 is less than +0
  return (x > y) == max ? a : b;
}

double RoundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero: return std::trunc(value);
    case Rounding::kDown: return std::floor(value);
    case Rounding::kUp: return std::ceil(value);
    case Rounding::kNearestAway: return std::round(value);
    default: return std::nearbyint(value);
  }
}

uint64_t Compute(const FloatFormat& format, FloatOperation operation, double a, double b, double c, Rounding rounding) {
  bool inexact;
  const double in_mode = InMode(HostMode(rounding), operation, a, b, c, &inexact);
  if (format == kF64) return FromDouble(kF64, in_mode, rounding);
  double odd = InMode(FE_TOWARDZERO, operation, a, b, c, &inexact);
  if (odd == 0 && !inexact) odd = in_mode;  // the sign of an exact zero depends on the mode
  if (inexact && std::isfinite(odd)) odd = std::bit_cast<double>(std::bit_cast<uint64_t>(odd) | 1);
  return FromDouble(format, odd, rounding);
}

}  // namespace tutti::interpreter
