// The host's arithmetic in the roundings of PTX, and conversions it does not have. Slow and plain: these are what the
// compiler is measured against.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tutti::compiler {

// body() with a rounding mode of <cfenv>. `body` must read its operands through volatile or from outside.
template <typename Body>
auto Rounded(int mode, Body body) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile auto result = body();
  std::fesetround(before);
  return static_cast<decltype(body())>(result);
}

inline float Flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
template <typename T>
T Saturate(T x) {
  return !(x > 0) ? T(0) : x < 1 ? x : T(1);
}

// A number with `digits` bits and exponents from `minimum` to `maximum` (of the leading bit) nearest to x in the
// rounding mode; beyond the largest it is infinity or the largest, as the mode says.
inline double RoundTo(double x, int digits, int minimum, int maximum, int mode) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), minimum);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  const double rounded = Rounded(mode, [&] { return std::nearbyint(x / unit); }) * unit;
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, 1 - digits), maximum);
  if (std::abs(rounded) <= largest) return rounded == 0 ? std::copysign(0.0, x) : rounded;
  const bool to_largest = mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && x > 0) || (mode == FE_UPWARD && x < 0);
  return std::copysign(to_largest ? largest : std::numeric_limits<double>::infinity(), x);
}

struct SmallFloat {
  int digits, minimum, maximum;  // as RoundTo
};
inline constexpr SmallFloat kF16{11, -14, 15};
inline constexpr SmallFloat kBf16{8, -126, 127};

// Bits of a 16-bit float to a number and back; x must be representable (see RoundTo).
inline double Decode(uint16_t bits, SmallFloat format) {
  const int mantissa_bits = format.digits - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == format.maximum * 2 + 1)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, format.minimum - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - format.maximum - mantissa_bits);
}
inline uint16_t Encode(double x, SmallFloat format) {
  const int mantissa_bits = format.digits - 1;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const auto infinity = static_cast<uint16_t>((format.maximum * 2 + 1) << mantissa_bits);
  if (std::isnan(x)) return 0x7fff;
  if (std::isinf(x)) return sign | infinity;
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), format.minimum);
  const auto units = static_cast<int>(std::ldexp(std::abs(x), mantissa_bits - exponent));
  const int biased = units >> mantissa_bits == 0 ? 0 : exponent + format.maximum;
  return static_cast<uint16_t>(sign | (biased << mantissa_bits) | (units & ((1 << mantissa_bits) - 1)));
}
inline uint16_t Narrow(double x, SmallFloat format, int mode) {
  return Encode(RoundTo(x, format.digits, format.minimum, format.maximum, mode), format);
}

// Float to integer: rounded by the mode, then clamped; NaN is 0, or where 64 bits take part the top bit alone.
template <typename Integer, typename Float>
Integer ToInteger(Float x, int mode) {
  constexpr bool wide = sizeof(Float) == 8 || sizeof(Integer) == 8;
  if (std::isnan(x)) return wide ? static_cast<Integer>(uint64_t{1} << (8 * sizeof(Integer) - 1)) : 0;
  const auto rounded = Rounded(mode, [&] { return std::nearbyint(static_cast<long double>(x)); });
  if (rounded <= static_cast<long double>(std::numeric_limits<Integer>::min()))
    return std::numeric_limits<Integer>::min();
  if (rounded >= static_cast<long double>(std::numeric_limits<Integer>::max()))
    return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(rounded);
}

}  // namespace tutti::compiler
