// 2^x, log2 x and tanh x of a warp, within the errors of PTX's .approx forms (ex2 2 ulp, lg2 2^-22, tanh 2^-11; these
// are about 1 ulp, 2^-23 and 2^-22). Subnormal inputs and results are kept; lowering flushes where .ftz asks for it.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

TUTTI_INLINE F32 PowerOfTwo(I32 exponent) { return Float((exponent + 127) << 23); }

// 2^x for x in [-160, 160], NaN for NaN.
TUTTI_INLINE F32 Exp2(F32 x) {
  const F32 n = __builtin_elementwise_roundeven(x);
  const F32 f = x - n;
  const F32 p = Horner(f, 0.00015353340131696314f, 0.0013398900628089905f, 0.009618437848985195f, 0.055503323674201965f,
                       0.24022647738456726f, 0.6931471824645996f, 1.0f);
  // Two factors, so that results below 2^-126 and above 2^127 come out right.
  const I32 exponent = __builtin_convertvector(n == n ? n : Splat(0.0f), I32);
  const I32 half = exponent >> 1;
  return p * PowerOfTwo(half) * PowerOfTwo(exponent - half);
}

TUTTI_INLINE F32 Clamp(F32 x, float low, float high) {
  x = x < Splat(low) ? Splat(low) : x;
  return x > Splat(high) ? Splat(high) : x;
}

}  // namespace

TUTTI_EXPORT F32 tutti_v_ex2_f32(F32 x) { return Exp2(Clamp(x, -160.0f, 160.0f)); }

TUTTI_EXPORT F32 tutti_v_lg2_f32(F32 x) {
  const auto small = x < Splat(0x1p-126f);
  const F32 normal = small ? x * Splat(0x1p23f) : x;
  const I32 bits = Bits(normal);
  // normal = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const I32 e = (bits - 0x3f3504f3) >> 23;
  const F32 m = Float(bits - (e << 23));
  const F32 t = m - Splat(1.0f);
  const F32 p = Horner(t, 0.1258353739976883f, -0.20726893842220306f, 0.21571584045886993f, -0.23894494771957397f,
                       0.28791624307632446f, -0.3607036769390106f, 0.48091062903404236f, -0.7213473320007324f,
                       1.4426950216293335f);
  const F32 exponent = __builtin_convertvector(e, F32) - (small ? Splat(23.0f) : Splat(0.0f));
  F32 result = MulAdd(t, p, exponent);
  result = x == Splat(__builtin_inff()) ? x : result;
  result = x == Splat(0.0f) ? Splat(-__builtin_inff()) : result;
  return ((x < Splat(0.0f)) | (x != x)) ? Splat(__builtin_nanf("")) : result;
}

TUTTI_EXPORT F32 tutti_v_tanh_f32(F32 x) {
  const F32 magnitude = __builtin_elementwise_abs(x);
  // Near zero 1 - 2 / (e^2x + 1) cancels; there an odd polynomial.
  const F32 z = x * x;
  const F32 near = MulAdd(
      Horner(z, 0.015111695043742657f, -0.05189235880970955f, 0.13307084143161774f, -0.33332282304763794f) * z, x, x);
  const F32 power = Exp2(Clamp(magnitude * Splat(2.885390082f), 0.0f, 60.0f));
  const F32 far = __builtin_elementwise_copysign(Splat(1.0f) - Splat(2.0f) / (power + Splat(1.0f)), x);
  const F32 result = magnitude < Splat(0.6f) ? near : far;
  return ((x == Splat(0.0f)) | (x != x)) ? x : result;
}
