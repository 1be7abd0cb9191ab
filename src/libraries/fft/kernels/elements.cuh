// The kernels around the passes: factors, halves of Hermitian spectra, copies between layouts.
#pragma once

#include "libraries/fft/kernels/complex.cuh"
#include "libraries/fft/kernels/unit.cuh"

namespace fft {

template <typename T>
__device__ __forceinline__ void Multiply(const tutti::fft::MultiplyArguments& a) {
  const T in_sign = static_cast<T>(a.in_sign), out_sign = static_cast<T>(a.out_sign);
  const auto* table = reinterpret_cast<const Complex<T>*>(a.common.table);
  ForUnits(a.common, [&](unsigned row, unsigned t) {
    if (t >= a.out_length) return;
    const Complex<T>* in = reinterpret_cast<const Complex<T>*>(a.common.in) + row * a.common.in_pitch;
    Complex<T> value = {0, 0};
    if (t < a.in_length) {
      value = in[t];
      value.y *= in_sign;
      value = value * table[a.by_inner.divisor == 1 ? t : Divide(t, a.by_inner)];
      value.y *= out_sign;
    }
    reinterpret_cast<Complex<T>*>(a.common.out)[row * a.common.out_pitch + t] = value;
  });
}

// Calls body(in row, out row, k) for all k < a.length, with lanes along k, or along the rows where those are short.
template <typename T, bool kAlongRows, typename Body>
__device__ __forceinline__ void ForHalves(const tutti::fft::HalfArguments& a, Body body) {
  ForUnits(a.common, [&](unsigned row, unsigned position) {
    const unsigned k = kAlongRows ? row : position, at = kAlongRows ? position : row;
    if (kAlongRows ? at >= a.rows : k >= a.length) return;
    body(reinterpret_cast<const Complex<T>*>(a.common.in) + at * a.common.in_pitch,
         reinterpret_cast<Complex<T>*>(a.common.out) + at * a.common.out_pitch, k);
  });
}

// From the transform z of N real numbers taken as N / 2 complex ones to their spectrum; k <= half / 2, and half - k
// with it, so that `in` and `out` may be the same.
template <typename T, bool kAlongRows>
__device__ __forceinline__ void RealSpectrum(const tutti::fft::HalfArguments& a) {
  ForHalves<T, kAlongRows>(a, [&](const Complex<T>* z, Complex<T>* x, unsigned k) {
    const Complex<T> here = z[k], there = Conjugate(z[k == 0 ? 0 : a.half - k]);
    const Complex<T> w = reinterpret_cast<const Complex<T>*>(a.common.table)[k];
    const Complex<T> even = static_cast<T>(0.5) * (here + there);
    const Complex<T> odd = w * TimesMinusI(static_cast<T>(0.5) * (here - there));
    x[k] = even + odd;
    x[a.half - k] = Conjugate(even - odd);
  });
}

// The way back, times 2. The imaginary parts of x[0] and x[half] do not count.
template <typename T, bool kAlongRows>
__device__ __forceinline__ void SpectrumReal(const tutti::fft::HalfArguments& a) {
  ForHalves<T, kAlongRows>(a, [&](const Complex<T>* x, Complex<T>* z, unsigned k) {
    Complex<T> here = x[k], there = Conjugate(x[a.half - k]);
    if (k == 0) here.y = there.y = 0;
    const Complex<T> w = reinterpret_cast<const Complex<T>*>(a.common.table)[k];
    const Complex<T> even = here + there, odd = (here - there) * Conjugate(w);
    z[k] = {even.x - odd.y, even.y + odd.x};
    if (k != 0) z[a.half - k] = {even.x + odd.y, odd.x - even.y};
  });
}

// The whole of a Hermitian spectrum of `length` elements.
template <typename T, bool kAlongRows>
__device__ __forceinline__ void WholeSpectrum(const tutti::fft::HalfArguments& a) {
  ForHalves<T, kAlongRows>(a, [&](const Complex<T>* half, Complex<T>* whole, unsigned k) {
    Complex<T> value = half[k <= a.half ? k : a.length - k];
    if (k > a.half) value.y = -value.y;
    if (k == 0) value.y = 0;
    whole[k] = value;
  });
}

template <typename T>
__device__ __forceinline__ void Convert(const Complex<T>& from, Complex<T>& to) {
  to = from;
}
template <typename T>
__device__ __forceinline__ void Convert(const Complex<T>& from, T& to) {
  to = from.x;
}
template <typename T>
__device__ __forceinline__ void Convert(const T& from, Complex<T>& to) {
  to = {from, 0};
}
template <typename T>
__device__ __forceinline__ void Convert(const T& from, T& to) {
  to = from;
}

template <typename From, typename To>
__device__ __forceinline__ void Copy(const tutti::fft::CopyArguments& a) {
  ForUnits(a.common, [&](unsigned row, unsigned last) {
    if (last >= a.extents[3]) return;
    const long long k = row % a.extents[2], j = row / a.extents[2] % a.extents[1];
    const long long i = row / a.extents[2] / a.extents[1];
    const auto* in = reinterpret_cast<const From*>(a.common.in) +
                     (i * a.in_strides[0] + j * a.in_strides[1] + k * a.in_strides[2]) + last * a.in_strides[3];
    auto* out = reinterpret_cast<To*>(a.common.out) +
                (i * a.out_strides[0] + j * a.out_strides[1] + k * a.out_strides[2]) + last * a.out_strides[3];
    Convert(*in, *out);
  });
}

}  // namespace fft
