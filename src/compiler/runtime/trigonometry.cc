// sin and cos of a warp.
//
// The argument is brought into [-pi/4, pi/4] by subtracting n * pi/2 in three pieces with fused multiply-adds (Cody and
// Waite), which keeps the error within a few 2^-24 up to |x| of about 2^17; PTX asks for 2^-20.5 within [-pi, pi] and
// leaves more than 100 pi open. Beyond that the result degrades as the hardware's does, but stays within [-1, 1].
//
// The coefficients are a least-maximum fit over the reduced interval (relative error of sin 2^-27.8, absolute error of
// cos 2^-33 before rounding).
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

struct Reduced {
  F32 r;  // in [-pi/4, pi/4], a little beyond where n came out one too low or high
  I32 quarter;  // how many quarter turns were taken off, modulo 4
};

TUTTI_INLINE Reduced Reduce(F32 x) {
  constexpr float kTwoOverPi = 0.636619772f;
  constexpr float kHigh = 0x1.921fb6p0f, kMiddle = -0x1.777a5cp-25f, kLow = -0x1.ee59dap-50f;  // sum: pi / 2
  const F32 n = __builtin_elementwise_roundeven(x * Splat(kTwoOverPi));
  F32 r = MulAdd(n, Splat(-kHigh), x);
  r = MulAdd(n, Splat(-kMiddle), r);
  r = MulAdd(n, Splat(-kLow), r);
  // Past the reduction's reach r is meaningless: keep it in range. NaN and infinity stay NaN.
  r = r > Splat(1.0f) ? Splat(1.0f) : r;
  r = r < Splat(-1.0f) ? Splat(-1.0f) : r;
  // n modulo 4 without converting what does not fit an int.
  const F32 turns = n - Splat(4.0f) * __builtin_elementwise_floor(n * Splat(0.25f));
  const F32 finite = turns == turns ? turns : Splat(0.0f);
  return {r, __builtin_convertvector(finite, I32) & 3};
}

TUTTI_INLINE F32 SinPolynomial(F32 r) {
  const F32 z = r * r;
  return MulAdd(Horner(z, -0.00019508741388563067f, 0.008332112804055214f, -0.16666653752326965f) * z, r, r);
}

TUTTI_INLINE F32 CosPolynomial(F32 r) {
  const F32 z = r * r;
  const F32 tail = Horner(z, 2.4431205019936897e-05f, -0.0013887305976822972f, 0.04166664555668831f);
  return MulAdd(z * z, tail, MulAdd(z, Splat(-0.5f), Splat(1.0f)));
}

// sin(r + quarter * pi/2).
TUTTI_INLINE F32 SinOfQuarter(F32 r, I32 quarter) {
  const F32 value = (quarter & 1) != 0 ? CosPolynomial(r) : SinPolynomial(r);
  return Float(Bits(value) ^ ((quarter & 2) << 30));
}

}  // namespace

TUTTI_EXPORT F32 tutti_v_sin_f32(F32 x) {
  const Reduced reduced = Reduce(x);
  const F32 result = SinOfQuarter(reduced.r, reduced.quarter);
  return x == Splat(0.0f) ? x : result;  // keeps -0
}

TUTTI_EXPORT F32 tutti_v_cos_f32(F32 x) {
  const Reduced reduced = Reduce(x);
  return SinOfQuarter(reduced.r, reduced.quarter + 1);
}
