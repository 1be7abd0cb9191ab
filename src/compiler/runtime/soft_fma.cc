// Fused multiply-add in integers, for processors without the instruction (before 2013), in the rounding direction of
// MXCSR, as the instruction would.
//
// Both terms are scaled to 128-bit significands with the top bit at 124. If the addend is much smaller or larger than
// the product, the smaller term's tail becomes a sticky bit, which suffices for rounding; where the two nearly cancel,
// their exponents are so close that nothing is lost: 106 bits of product leave 18 bits free.
#include "compiler/runtime/vector.h"

namespace {

typedef unsigned __int128 U128;

struct Binary64 {
  typedef double Value;
  typedef uint64_t Bits;
  static constexpr int kFraction = 52, kBias = 1023, kTop = 0x7ff;
};
struct Binary32 {
  typedef float Value;
  typedef uint32_t Bits;
  static constexpr int kFraction = 23, kBias = 127, kTop = 0xff;
};

struct Term {  // (-1)^negative * significand * 2^exponent; significand's top bit is 124, or it is 0
  bool negative;
  int exponent;
  U128 significand;
};

TUTTI_INLINE int LeadingZeros(U128 x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll(static_cast<uint64_t>(x));
}

TUTTI_INLINE Term Normalized(Term term) {
  if (term.significand == 0) return term;
  const int shift = LeadingZeros(term.significand) - 3;
  if (shift >= 0) {
    term.significand <<= shift;
  } else {
    term.significand = term.significand >> -shift | (term.significand << (128 + shift) != 0);
  }
  term.exponent -= shift;
  return term;
}

template <typename Format>
TUTTI_INLINE Term TermOf(typename Format::Value value) {
  const auto bits = __builtin_bit_cast(typename Format::Bits, value);
  const auto fraction = bits & ((static_cast<typename Format::Bits>(1) << Format::kFraction) - 1);
  const int exponent = static_cast<int>(bits >> Format::kFraction) & Format::kTop;
  const bool negative = bits >> (sizeof bits * 8 - 1) != 0;
  const U128 significand =
      exponent == 0 ? fraction : fraction | static_cast<typename Format::Bits>(1) << Format::kFraction;
  return {negative, (exponent == 0 ? 1 : exponent) - Format::kBias - Format::kFraction, significand};
}

TUTTI_INLINE U128 ShiftRightSticky(U128 value, int shift) {
  if (shift == 0) return value;
  if (shift > 127) return value != 0;
  return value >> shift | (value << (128 - shift) != 0);
}

enum Direction : uint32_t { kNearest = 0, kDown = 1, kUp = 2, kZero = 3 };

TUTTI_INLINE Term Add(Term a, Term b, Direction direction) {
  if (b.significand == 0 || (a.significand != 0 && a.exponent > b.exponent)) {
  } else {
    const Term swapped = a;
    a = b;
    b = swapped;
  }
  b.significand = b.significand == 0 ? 0 : ShiftRightSticky(b.significand, a.exponent - b.exponent);
  if (a.negative == b.negative) return Normalized({a.negative, a.exponent, a.significand + b.significand});
  if (a.significand == b.significand) return {direction == kDown, 0, 0};
  if (a.significand > b.significand) return Normalized({a.negative, a.exponent, a.significand - b.significand});
  return Normalized({b.negative, a.exponent, b.significand - a.significand});
}

template <typename Format>
TUTTI_INLINE typename Format::Value Rounded(const Term& term, Direction direction) {
  typedef typename Format::Bits Bits;
  const Bits sign = static_cast<Bits>(term.negative) << (sizeof(Bits) * 8 - 1);
  if (term.significand == 0) return __builtin_bit_cast(typename Format::Value, sign);
  int drop = 124 - Format::kFraction;
  int biased = term.exponent + 124 + Format::kBias;  // exponent field if normal
  if (biased <= 0) {
    drop += 1 - biased;
    biased = 0;
  }
  const U128 kept = drop > 127 ? 0 : term.significand >> drop;
  // as a fraction of 2^128; > 127: tiny
  const U128 rest = drop > 127 ? static_cast<U128>(1) : term.significand << (128 - drop);
  const U128 half = static_cast<U128>(1) << 127;
  bool up = false;
  switch (direction) {
    case kNearest: up = rest > half || (rest == half && (kept & 1) != 0); break;
    case kDown: up = term.negative && rest != 0; break;
    case kUp: up = !term.negative && rest != 0; break;
    case kZero: break;
  }
  // A carry out of the fraction moves into the exponent as it should, also from subnormal to normal.
  const Bits fraction = static_cast<Bits>(kept) + (up ? 1 : 0);
  const Bits hidden = static_cast<Bits>(1) << Format::kFraction;
  const Bits infinity = static_cast<Bits>(Format::kTop) << Format::kFraction;
  if (biased >= Format::kTop ||
      (static_cast<Bits>(biased) << Format::kFraction) + (fraction - (biased != 0 ? hidden : 0)) >= infinity) {
    const bool to_infinity = direction == kNearest || direction == (term.negative ? kDown : kUp);
    return __builtin_bit_cast(typename Format::Value,
                              static_cast<Bits>(sign | (to_infinity ? infinity : infinity - 1)));
  }
  const Bits magnitude = (static_cast<Bits>(biased) << Format::kFraction) + (fraction - (biased != 0 ? hidden : 0));
  return __builtin_bit_cast(typename Format::Value, static_cast<Bits>(sign | magnitude));
}

template <typename Format>
TUTTI_INLINE typename Format::Value MultiplyAdd(typename Format::Value a, typename Format::Value b,
                                                typename Format::Value c) {
  const bool product_is_finite = a - a == 0 && b - b == 0;
  if (!product_is_finite) return a * b + c;
  if (c - c != 0) return c + c;
  const Term x = TermOf<Format>(a), y = TermOf<Format>(b);
  const auto direction = static_cast<Direction>(__builtin_ia32_stmxcsr() >> 13 & 3);
  if (x.significand == 0 || y.significand == 0) return a * b + c;  // exact
  const Term product = Normalized({x.negative != y.negative, x.exponent + y.exponent, x.significand * y.significand});
  return Rounded<Format>(Add(product, Normalized(TermOf<Format>(c)), direction), direction);
}

}  // namespace

TUTTI_SUPPORT double fma(double a, double b, double c) { return MultiplyAdd<Binary64>(a, b, c); }
TUTTI_SUPPORT float fmaf(float a, float b, float c) { return MultiplyAdd<Binary32>(a, b, c); }
