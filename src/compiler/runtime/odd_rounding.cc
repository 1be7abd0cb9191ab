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

// `nearest` was off by the number that has the sign and the zero of `error`.
TUTTI_INLINE F32 ToOdd(F32 nearest, I32 inexact, I32 error_sign) {
  const I32 bits = Bits(nearest);
  // One less where the signs differ: it was rounded away from zero.
  const I32 toward_zero = bits + ((bits ^ error_sign) >> 31);
  return Float((inexact & (toward_zero | 1)) | (~inexact & bits));
}

}  // namespace

// Each is less than a call costs, which takes vectors through memory.
#define TUTTI_INLINED TUTTI_EXPORT __attribute__((always_inline))

// Of halves. The product, of 22 bits between 2^-48 and 2^32, is exact in f32; the sum neither overflows nor underflows
// there.
TUTTI_INLINED F32 tutti_v_fma_odd_f16(F32 a, F32 b, F32 c) {
  const Sum<F32> sum = TwoSum(a * b, c);
  return ToOdd(sum.value, (sum.error < 0) | (sum.error > 0), Bits(sum.error));  // a NaN is no error
}

// Of any floats: the same in f64, whose rounding to f32 adds to the error. What that leaves is at least one unit in the
// last place of the f64 sum, or zero: the sum's own error does not change its sign.
TUTTI_INLINED F32 tutti_v_fma_odd_f32(F32 a, F32 b, F32 c) {
  const auto widened = [](F32 x) __attribute__((always_inline)) { return __builtin_convertvector(x, F64); };
  const Sum<F64> sum = TwoSum(widened(a) * widened(b), widened(c));
  const F32 nearest = __builtin_convertvector(sum.value, F32);
  const F64 error = (sum.value - widened(nearest)) + sum.error;
  return ToOdd(nearest, __builtin_convertvector((error < 0) | (error > 0), I32),
               __builtin_convertvector(Bits(error) >> 32, I32));
}
