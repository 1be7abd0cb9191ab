// A pass of Stockham's transform (arguments.h).
#pragma once

#include "libraries/fft/kernels/butterfly.cuh"
#include "libraries/fft/kernels/unit.cuh"

namespace fft {

// Along what the lanes of a warp run, and with it how they reach memory.
enum class Lanes {
  kRows,      // q, and s is a multiple of 32: all is contiguous, twiddles are the same for all lanes
  kEdgeRows,  // q, for any s
  kFirst,     // p, where s = 1 and m is a multiple of 32: writes are scattered
  kEdgeFirst,
  kTile8,     // p and q, where s = 8 (16) and m * s a multiple of 32: in runs of 8 (16)
  kTile16,
  kEdgeTile8,
  kEdgeTile16,
  kTile,      // p and q, for any s: reads are contiguous, writes are scattered
  kFlat,      // p, q and arrays, whatever they are: all is gathered and scattered
};

template <typename T>
struct Butterflies {
  const Complex<T>* from;
  Complex<T>* to;
  const Complex<T>* twiddles;
  bool is_there;
};

// Where the lane's butterfly is.
template <int kRadix, Lanes kLanes, typename T>
__device__ __forceinline__ Butterflies<T> Find(const tutti::fft::PassArguments& a, unsigned row, unsigned position) {
  const auto* in = reinterpret_cast<const Complex<T>*>(a.common.in);
  auto* out = reinterpret_cast<Complex<T>*>(a.common.out);
  const auto* twiddles = reinterpret_cast<const Complex<T>*>(a.common.table);
  const unsigned long long in_pitch = a.common.in_pitch, out_pitch = a.common.out_pitch, s = a.s;
  if constexpr (kLanes == Lanes::kRows || kLanes == Lanes::kEdgeRows) {
    const unsigned outer = row / a.m;
    const unsigned long long p = row % a.m;
    return {in + (outer * in_pitch + p * s) + position, out + (outer * out_pitch + p * s * kRadix) + position,
            twiddles + p, kLanes == Lanes::kRows || position < a.s};
  } else if constexpr (kLanes == Lanes::kFirst || kLanes == Lanes::kEdgeFirst) {
    return {in + row * in_pitch + position, out + row * out_pitch + position * kRadix, twiddles + position,
            kLanes == Lanes::kFirst || position < a.m};
  } else if constexpr (kLanes == Lanes::kTile) {
    const unsigned p = Divide(position, a.by_s);
    return {in + row * in_pitch + position, out + row * out_pitch + (position + p * (a.s * (kRadix - 1))), twiddles + p,
            position < a.m * a.s};
  } else if constexpr (kLanes != Lanes::kFlat) {
    constexpr unsigned kS = kLanes == Lanes::kTile8 || kLanes == Lanes::kEdgeTile8 ? 8 : 16;
    constexpr bool kHasEdge = kLanes == Lanes::kEdgeTile8 || kLanes == Lanes::kEdgeTile16;
    const unsigned lane = threadIdx.x, p = (position - lane) / kS;
    return {in + row * in_pitch + position,
            out + row * out_pitch + p * (kS * kRadix) + (lane / kS * (kS * kRadix) + lane % kS),
            twiddles + p + lane / kS, !kHasEdge || position < a.m * kS};
  } else {
    // There is one row of everything. Its first butterfly is one number for the warp; the lanes may lead into the next
    // arrays.
    const unsigned lane = threadIdx.x, ms = a.by_ms.divisor;
    const unsigned first = position - lane, first_outer = first / ms, n = first % ms + lane;
    const unsigned more_outer = Divide(n, a.by_ms), j = n - more_outer * ms;
    const unsigned p = Divide(j, a.by_s), q = j - p * a.s;
    return {in + first_outer * in_pitch + (more_outer * in_pitch + j),
            out + first_outer * out_pitch + (more_outer * out_pitch + (p * kRadix * a.s + q)), twiddles + p,
            first_outer + more_outer < a.outer};
  }
}

// The length of what lanes run along, where its last unit may have fewer than 32 of them; else 0.
template <Lanes kLanes>
__device__ __forceinline__ unsigned Edge(const tutti::fft::PassArguments& a) {
  switch (kLanes) {
    case Lanes::kEdgeRows: return a.s;
    case Lanes::kEdgeFirst: return a.m;
    case Lanes::kTile:
    case Lanes::kEdgeTile8:
    case Lanes::kEdgeTile16: return a.m * a.s;
    default: return 0;
  }
}

template <int kRadix, Lanes kLanes, typename T>
__device__ __forceinline__ void PassOf(const tutti::fft::PassArguments& a, const Butterflies<T>& at) {
  const unsigned long long in_step = static_cast<unsigned long long>(a.m) * a.s, table_step = a.m;
  const unsigned long long out_step = kLanes == Lanes::kFirst || kLanes == Lanes::kEdgeFirst ? 1 : a.s;
  const T in_sign = static_cast<T>(a.in_sign), out_sign = static_cast<T>(a.out_sign);
  Complex<T> values[kRadix];
#pragma unroll
  for (int r = 0; r < kRadix; ++r) {
    values[r] = Load(at.from + r * in_step);
    values[r].y *= in_sign;
  }
  Butterfly<kRadix>(values);
  if (a.m != 1) {
#pragma unroll
    for (int r = 1; r < kRadix; ++r) values[r] = values[r] * Load(at.twiddles + (r - 1) * table_step);
  }
#pragma unroll
  for (int r = 0; r < kRadix; ++r) {
    values[r].y *= out_sign;
    Store(at.to + r * out_step, values[r]);
  }
}

template <typename T, int kRadix, Lanes kLanes>
__device__ __forceinline__ void Pass(const tutti::fft::PassArguments& a) {
  const unsigned edge = Edge<kLanes>(a);
  ForUnits(a.common, [&](unsigned row, unsigned position) {
    const Butterflies<T> at = Find<kRadix, kLanes, T>(a, row, position);
    if (kLanes == Lanes::kFlat || (edge != 0 && position - threadIdx.x + 32 > edge)) {
      if (at.is_there) PassOf<kRadix, kLanes>(a, at);
    } else {
      PassOf<kRadix, kLanes>(a, at);  // in all lanes: stores need no mask, and may be one per lane
    }
  });
}

}  // namespace fft
