// Floating-point formats as bits, and arithmetic on them.
//
// Every operation is computed once, in double precision rounded to odd (toward zero, with the last bit set if anything
// was lost), and then rounded to its format. Rounding to odd makes the second rounding correct in every mode, for
// formats of up to 51 bits. Only f64 itself is computed in its own rounding mode.
#pragma once

#include <cstdint>

#include "interpreter/step.h"

namespace tutti::interpreter {

struct FloatFormat {
  uint32_t bits;  // of a value in a register
  uint32_t exponent_bits;
  uint32_t fraction_bits;
  uint64_t largest;  // finite, without its sign
  uint64_t infinity;  // 0: the format has none
  uint64_t canonical_nan;  // 0: the format has none

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + fraction_bits); }
  bool operator==(const FloatFormat&) const = default;
};
inline constexpr FloatFormat kF64{64, 11, 52, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000};
inline constexpr FloatFormat kF32{32, 8, 23, 0x7f7fffff, 0x7f800000, 0x7fffffff};
inline constexpr FloatFormat kTf32{19, 8, 10, 0x3fbff, 0x3fc00, 0x3ffff};  // the upper 19 bits of an f32
inline constexpr FloatFormat kF16{16, 5, 10, 0x7bff, 0x7c00, 0x7fff};
inline constexpr FloatFormat kBF16{16, 8, 7, 0x7f7f, 0x7f80, 0x7fff};
inline constexpr FloatFormat kE4M3{8, 4, 3, 0x7e, 0, 0x7f};
inline constexpr FloatFormat kE5M2{8, 5, 2, 0x7b, 0x7c, 0x7f};
inline constexpr FloatFormat kE3M2{6, 3, 2, 0x1f, 0, 0};
inline constexpr FloatFormat kE2M3{6, 2, 3, 0x1f, 0, 0};
inline constexpr FloatFormat kE2M1{4, 2, 1, 0x7, 0, 0};

// Of a type or the elements of a packed type. Null: not a float.
const FloatFormat* FormatOf(Type type);

enum class Rounding : uint8_t { kNearestEven, kZero, kDown, kUp, kNearestAway, kOdd };
// What the instruction says (.rn, .rz, .rm, .rp, .rna, and .rni, ...); without a word: to nearest even.
Rounding RoundingOf(Step& step);

bool IsNan(const FloatFormat& format, uint64_t bits);
bool IsSubnormal(const FloatFormat& format, uint64_t bits);
// Subnormal numbers become zeros of their sign.
uint64_t Flush(const FloatFormat& format, uint64_t bits);
double ToDouble(const FloatFormat& format, uint64_t bits);
// `value` exact or rounded to odd. Above the largest number: infinity, or with `saturate` (or where there is none and
// rounding says so) the largest.
uint64_t FromDouble(const FloatFormat& format, double value, Rounding rounding, bool saturate = false);
// From [0, 1]; NaN becomes 0.
uint64_t ClampToUnit(const FloatFormat& format, uint64_t bits);
// min or max: NaNs lose unless `keep_nan`; -0 is less than +0.
uint64_t ChooseFloat(const FloatFormat& format, uint64_t a, uint64_t b, bool max, bool keep_nan);
// To an integral value; f is what the format can hold.
double RoundToIntegral(double value, Rounding rounding);

enum class FloatOperation : uint8_t { kAdd, kMultiply, kMultiplyAdd, kDivide, kRoot };
// The result in `format`; sources are exact in double.
uint64_t Compute(const FloatFormat& format, FloatOperation operation, double a, double b, double c, Rounding rounding);

}  // namespace tutti::interpreter
