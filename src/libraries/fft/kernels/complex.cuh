// Complex numbers as cuFFT lays them out: real part, imaginary part, aligned as a whole, so that a lane's access is one
// of two components (and 32 lanes in a row are whole vectors, compiler/widen/memory/pieces.h).
#pragma once

namespace fft {

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
  T x, y;
};

// As one access each: clang makes two of an assignment where the parts are worked on apart.
template <typename T>
using Pair = T __attribute__((ext_vector_type(2)));
template <typename T>
__device__ __forceinline__ Complex<T> Load(const Complex<T>* from) {
  const Pair<T> pair = *reinterpret_cast<const Pair<T>*>(from);
  return {pair.x, pair.y};
}
template <typename T>
__device__ __forceinline__ void Store(Complex<T>* to, Complex<T> value) {
  *reinterpret_cast<Pair<T>*>(to) = Pair<T>{value.x, value.y};
}

template <typename T>
__device__ __forceinline__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.x + b.x, a.y + b.y};
}
template <typename T>
__device__ __forceinline__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.x - b.x, a.y - b.y};
}
template <typename T>
__device__ __forceinline__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <typename T>
__device__ __forceinline__ Complex<T> operator*(T factor, Complex<T> a) {
  return {factor * a.x, factor * a.y};
}
template <typename T>
__device__ __forceinline__ Complex<T> Conjugate(Complex<T> a) {
  return {a.x, -a.y};
}
// -i a
template <typename T>
__device__ __forceinline__ Complex<T> TimesMinusI(Complex<T> a) {
  return {a.y, -a.x};
}

}  // namespace fft
