// sin and cos of a warp.
//
// The argument is brought into [-pi/2, pi/2] by subtracting n * pi in two pieces with fused multiply-adds (Cody and
// Waite), for the cosine with n a whole number and a half: then both are sines, but for the sign. That keeps the error
// within a few 2^-24 up to |x| of about 2^17; PTX asks for 2^-20.5 within [-2 pi, 2 pi] and leaves more than 100 pi
// open. Beyond that the result degrades as the hardware's does, but stays within [-1, 1].
#include "compiler/runtime/approximations.h"
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

// (-1)^k sin(x - n * pi), k the integer that is in the last bits of `shifted`.
TUTTI_INLINE F32 SineFrom(F32 x, F32 n, I32 k) {
  F32 r = MulAdd(n, Splat(-approximations::kPi), x);
  r = MulAdd(n, Splat(-approximations::kPiRest), r);
  const F32 z = r * r;
  F32 sine = r * MulAdd(z, Horner(z, approximations::kSine), Splat(1.0f));  // -0 of -0, unlike r + ...
  // Rounded up beyond one; and past the reduction's reach r is anything. NaN, of infinity too, stays.
  sine = sine > Splat(1.0f) ? Splat(1.0f) : sine;
  sine = sine < Splat(-1.0f) ? Splat(-1.0f) : sine;
  return Float(Bits(sine) ^ (k << 31));
}

}  // namespace

TUTTI_EXPORT TUTTI_IN_PLACE F32 tutti_v_sin_f32(F32 x) {
  const F32 shifted = MulAdd(x, Splat(approximations::kOneOverPi), Splat(approximations::kRound));
  return SineFrom(x, shifted - Splat(approximations::kRound), Bits(shifted));
}

TUTTI_EXPORT TUTTI_IN_PLACE F32 tutti_v_cos_f32(F32 x) {
  const F32 shifted = MulAdd(x, Splat(approximations::kOneOverPi), Splat(-0.5f)) + Splat(approximations::kRound);
  return SineFrom(x, shifted - Splat(approximations::kRound) + Splat(0.5f), Bits(shifted) + 1);
}
