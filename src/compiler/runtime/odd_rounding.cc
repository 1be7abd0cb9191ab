// a * b + c as f32, rounded to odd: what is rounded once more, to f16 or bf16, as if it had been exact. For processors
// whose instructions carry no rounding (widen/arithmetic/directed.h); by the error of the sum.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

template <typename V>
struct Sum {
  V value, error;  // their exact sum is that of the operands
};

// Knuth's. NaN as the error where an operand is infinite.
template <typename V>
TUTTI_INLINE Sum<V> TwoSum(V a, V b) {
  const V sum = a + b, virtual_b = sum - a, virtual_a = sum - virtual_b;
  return {sum, (a - virtual_a) + (b - virtual_b)};
}

// Of patterns. The number `nearest` was off by another, whose sign `error_sign` has.
template <typename V>
TUTTI_INLINE V ToOdd(V nearest, V inexact, V error_sign) {
  // One less where the signs differ: it was rounded away from zero.
  const V toward_zero = nearest + ((nearest ^ error_sign) >> 31);
  return (inexact & (toward_zero | 1)) | (~inexact & nearest);
}

}  // namespace

// Each is less than a call costs, which takes vectors through memory.
#define TUTTI_INLINED TUTTI_EXPORT __attribute__((always_inline))

#if TUTTI_LANES == 32
// Of halves. The product, of 22 bits between 2^-48 and 2^32, is exact in f32; the sum neither overflows nor underflows
// there. The larger term taken from the sum leaves an exact difference, whose distance to the other term is the error;
// the smaller one taken from it leaves a part of the error, or nothing. Both have its sign. That is as many operations
// as Knuth's, of which fewer wait for each other.
//
// Eight lanes at a time: of 32 at once the operands of the next step are in no registers any more.
using Eight = float __attribute__((ext_vector_type(8)));
using EightBits = int32_t __attribute__((ext_vector_type(8)));

TUTTI_INLINE Eight FmaToOdd(Eight a, Eight b, Eight c) {
  const Eight product = a * b, sum = product + c;
  const Eight error = (c - (sum - product)) + (product - (sum - c));
  const EightBits inexact = (error < 0) | (error > 0);  // a NaN is no error
  return __builtin_bit_cast(Eight,
                            ToOdd(__builtin_bit_cast(EightBits, sum), inexact, __builtin_bit_cast(EightBits, error)));
}

TUTTI_INLINED F32 tutti_v_fma_odd_f16(F32 a, F32 b, F32 c) {
  F32 result;
  result.lo.lo = FmaToOdd(a.lo.lo, b.lo.lo, c.lo.lo);
  result.lo.hi = FmaToOdd(a.lo.hi, b.lo.hi, c.lo.hi);
  result.hi.lo = FmaToOdd(a.hi.lo, b.hi.lo, c.hi.lo);
  result.hi.hi = FmaToOdd(a.hi.hi, b.hi.hi, c.hi.hi);
  return result;
}
#endif

// Of any floats: the same in f64, whose rounding to f32 adds to the error. What that leaves is at least one unit in the
// last place of the f64 sum, or zero: the sum's own error does not change its sign.
TUTTI_INLINED F32 tutti_v_fma_odd_f32(F32 a, F32 b, F32 c) {
  const auto widened = [](F32 x) __attribute__((always_inline)) { return __builtin_convertvector(x, F64); };
  const Sum<F64> sum = TwoSum(widened(a) * widened(b), widened(c));
  const F32 nearest = __builtin_convertvector(sum.value, F32);
  const F64 error = (sum.value - widened(nearest)) + sum.error;
  return Float(ToOdd(Bits(nearest), __builtin_convertvector((error < 0) | (error > 0), I32),
                     __builtin_convertvector(Bits(error) >> 32, I32)));
}
