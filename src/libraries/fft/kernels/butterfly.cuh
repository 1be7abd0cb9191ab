// Forward transforms of a few elements in registers: a[k] becomes the sum over r of a[r] exp(-2 pi i k r / R).
#pragma once

#include "libraries/fft/kernels/complex.cuh"

namespace fft {

// sin and cos of 2 pi turn / turns, for constants: a series on at most an eighth of a turn.
constexpr double SeriesCos(double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < 24; k += 2) {
    term *= -x * x / (k * (k + 1));
    sum += term;
  }
  return sum;
}
constexpr double SeriesSin(double x) {
  double term = x, sum = x;
  for (int k = 2; k < 24; k += 2) {
    term *= -x * x / (k * (k + 1));
    sum += term;
  }
  return sum;
}
constexpr double kPi = 3.14159265358979323846;
constexpr double Cos(int turn, int turns) {
  turn %= turns;
  if (2 * turn > turns) turn = turns - turn;
  if (4 * turn > turns) return -Cos(turns - 2 * turn, 2 * turns);
  if (8 * turn > turns) return SeriesSin(2 * kPi * (turns - 4 * turn) / (4.0 * turns));
  return SeriesCos(2 * kPi * turn / turns);
}
constexpr double Sin(int turn, int turns) {
  turn %= turns;
  if (2 * turn > turns) return -Sin(turns - turn, turns);
  if (4 * turn > turns) return Sin(turns - 2 * turn, 2 * turns);
  if (8 * turn > turns) return SeriesCos(2 * kPi * (turns - 4 * turn) / (4.0 * turns));
  return SeriesSin(2 * kPi * turn / turns);
}

template <int kTurns>
struct Circle {
  double cos[kTurns] = {}, sin[kTurns] = {};
  constexpr Circle() {
    for (int turn = 0; turn < kTurns; ++turn) {
      cos[turn] = Cos(turn, kTurns);
      sin[turn] = Sin(turn, kTurns);
    }
  }
};

// Of a[0], a[kStep], ...
template <int kStep, typename T>
__device__ __forceinline__ void Butterfly2(Complex<T>* a) {
  const Complex<T> sum = a[0] + a[kStep], difference = a[0] - a[kStep];
  a[0] = sum;
  a[kStep] = difference;
}

template <int kStep, typename T>
__device__ __forceinline__ void Butterfly4(Complex<T>* a) {
  const Complex<T> even_sum = a[0] + a[2 * kStep], even_difference = a[0] - a[2 * kStep];
  const Complex<T> odd_sum = a[kStep] + a[3 * kStep], odd_difference = TimesMinusI(a[kStep] - a[3 * kStep]);
  a[0] = even_sum + odd_sum;
  a[kStep] = even_difference + odd_difference;
  a[2 * kStep] = even_sum - odd_sum;
  a[3 * kStep] = even_difference - odd_difference;
}

constexpr double kHalfRoot = 0.70710678118654752440;

// Times exp(-2 pi i / 8), and times exp(-2 pi i 3 / 8).
template <typename T>
__device__ __forceinline__ Complex<T> TimesEighth(Complex<T> a) {
  return static_cast<T>(kHalfRoot) * Complex<T>{a.x + a.y, a.y - a.x};
}
template <typename T>
__device__ __forceinline__ Complex<T> TimesThreeEighths(Complex<T> a) {
  return static_cast<T>(kHalfRoot) * Complex<T>{a.y - a.x, -a.x - a.y};
}

template <typename T>
__device__ __forceinline__ void Butterfly8(Complex<T>* a) {
  Complex<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  Butterfly4<1>(even);
  Butterfly4<1>(odd);
  odd[1] = TimesEighth(odd[1]);
  odd[2] = TimesMinusI(odd[2]);
  odd[3] = TimesThreeEighths(odd[3]);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}

// 4 x 4: columns, twiddles, rows; the result comes out transposed.
template <typename T>
__device__ __forceinline__ void Butterfly16(Complex<T>* a) {
  constexpr T c = static_cast<T>(Cos(1, 16)), s = static_cast<T>(Sin(1, 16));
#pragma unroll
  for (int i = 0; i < 4; ++i) Butterfly4<4>(a + i);
  a[5] = a[5] * Complex<T>{c, -s};
  a[6] = TimesEighth(a[6]);
  a[7] = a[7] * Complex<T>{s, -c};
  a[9] = TimesEighth(a[9]);
  a[10] = TimesMinusI(a[10]);
  a[11] = TimesThreeEighths(a[11]);
  a[13] = a[13] * Complex<T>{s, -c};
  a[14] = TimesThreeEighths(a[14]);
  a[15] = a[15] * Complex<T>{-c, s};
#pragma unroll
  for (int k = 0; k < 4; ++k) Butterfly4<1>(a + 4 * k);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < i; ++j) {
      const Complex<T> swapped = a[4 * i + j];
      a[4 * i + j] = a[4 * j + i];
      a[4 * j + i] = swapped;
    }
  }
}

// Odd R: elements r and R - r meet the same cosines and opposite sines.
template <int kRadix, typename T>
__device__ __forceinline__ void ButterflyOdd(Complex<T>* a) {
  constexpr int kHalf = kRadix / 2;
  constexpr Circle<kRadix> circle;
  Complex<T> sums[kHalf], differences[kHalf], total = a[0];
#pragma unroll
  for (int r = 1; r <= kHalf; ++r) {
    sums[r - 1] = a[r] + a[kRadix - r];
    differences[r - 1] = a[r] - a[kRadix - r];
    total = total + sums[r - 1];
  }
#pragma unroll
  for (int k = 1; k <= kHalf; ++k) {
    Complex<T> even = a[0], odd = {0, 0};
#pragma unroll
    for (int r = 1; r <= kHalf; ++r) {
      const T c = static_cast<T>(circle.cos[k * r % kRadix]), s = static_cast<T>(circle.sin[k * r % kRadix]);
      even = even + c * sums[r - 1];
      odd = odd + s * differences[r - 1];
    }
    odd = TimesMinusI(odd);
    a[k] = even + odd;
    a[kRadix - k] = even - odd;
  }
  a[0] = total;
}

template <int kRadix, typename T>
__device__ __forceinline__ void Butterfly(Complex<T>* a) {
  if constexpr (kRadix == 2)
    Butterfly2<1>(a);
  else if constexpr (kRadix == 4)
    Butterfly4<1>(a);
  else if constexpr (kRadix == 8)
    Butterfly8(a);
  else if constexpr (kRadix == 16)
    Butterfly16(a);
  else
    ButterflyOdd<kRadix>(a);
}

}  // namespace fft
