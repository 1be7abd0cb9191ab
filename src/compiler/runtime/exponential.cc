// 2^x, log2 x and tanh x of a warp, within the errors of PTX's .approx forms (ex2 2 ulp, lg2 2^-22, tanh 2^-11; these
// are about 1 ulp, 2^-22.5 and 2^-15). Subnormal inputs and results are kept; lowering flushes where .ftz asks for it.
//
// AVX-512 has instructions for what these do with exponents (widen/arithmetic/approximations.h). Both give the same
// results, so steps and coefficients are in one place: approximations.h.
#include "compiler/runtime/approximations.h"
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

// 2^n of n << 23.
TUTTI_INLINE F32 PowerOfTwo(I32 exponent) { return Float(exponent + Bits(Splat(1.0f))); }

TUTTI_INLINE F32 AtMost(F32 x, float high) { return x > Splat(high) ? Splat(high) : x; }

}  // namespace

// 2^x = 2^n * 2^f with n the nearest integer: it is in the last bits of x + kRound.
TUTTI_EXPORT TUTTI_IN_PLACE F32 tutti_v_ex2_f32(F32 x) {
  x = AtMost(x < Splat(-160.0f) ? Splat(-160.0f) : x, 160.0f);
  const F32 shifted = x + Splat(approximations::kRound);
  const F32 p = Horner(x - (shifted - Splat(approximations::kRound)), approximations::kPowerOfTwo);
  // Two factors, so that results below 2^-126 and above 2^127 come out right. kRound's last nine bits are zero.
  const I32 whole = Bits(shifted) << 23, half = Bits(shifted) >> 1 << 23;
  return p * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

TUTTI_EXPORT TUTTI_IN_PLACE F32 tutti_v_lg2_f32(F32 x) {
  const auto small = x < Splat(0x1p-126f);
  const F32 normal = small ? x * Splat(0x1p23f) : x;
  const I32 bits = Bits(normal);
  // normal = m * 2^e with m in [3/4, 3/2).
  const I32 e = (bits - Bits(Splat(0.75f))) >> 23;
  const F32 t = Float(bits - (e << 23)) - Splat(1.0f);
  const F32 exponent = __builtin_convertvector(e, F32) - (small ? Splat(23.0f) : Splat(0.0f));
  F32 result = MulAdd(t, Horner(t, approximations::kLogarithm), exponent);
  result = x == Splat(__builtin_inff()) ? x : result;
  result = x == Splat(0.0f) ? Splat(-__builtin_inff()) : result;
  return ((x < Splat(0.0f)) | (x != x)) ? Splat(__builtin_nanf("")) : result;
}

// With s = e^2|x| it is (s - 1) / (s + 1). s = 2^n * 2^f, and s - 1 = 2^n (2^f - 1) + (2^n - 1) loses nothing where x
// is small. Smaller still, it is x.
TUTTI_EXPORT TUTTI_IN_PLACE F32 tutti_v_tanh_f32(F32 x) {
  const F32 magnitude = __builtin_elementwise_abs(x);
  const F32 y = AtMost(magnitude * Splat(approximations::kTwoLog2E), 30.0f);
  const F32 shifted = y + Splat(approximations::kRound);
  const F32 f = y - (shifted - Splat(approximations::kRound));
  const F32 power = PowerOfTwo(Bits(shifted) << 23);
  const F32 less_one = MulAdd(power, f * Horner(f, approximations::kPowerLessOne), power - Splat(1.0f));
  const F32 result = __builtin_elementwise_copysign(less_one / (less_one + Splat(2.0f)), x);
  return magnitude < Splat(0x1p-7f) ? x : result;
}
