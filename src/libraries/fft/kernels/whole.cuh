// A whole transform of a small power of two by one warp: the passes of pass.cuh for rows that lie in a row, but what is
// between them stays in shared memory and the row that is written, and so in the processor's first cache. A unit is a
// row (arguments.h).
#pragma once

#include "libraries/fft/kernels/butterfly.cuh"
#include "libraries/fft/kernels/unit.cuh"

namespace fft {

// What passes read and write: complex numbers as they are in memory, or, in shared memory, real and imaginary parts
// apart, which spares a vector's shuffles.
template <typename T>
struct Interleaved {
  Complex<T>* numbers;
  __device__ Complex<T> operator[](unsigned i) const { return Load(numbers + i); }
  __device__ void Set(unsigned i, Complex<T> value) const { Store(numbers + i, value); }
  template <int kCount>
  __device__ void SetRow(unsigned i, const Complex<T> (&values)[kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) Set(i + k, values[k]);
  }
};
__device__ __forceinline__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(
      reinterpret_cast<unsigned long long>((__attribute__((address_space(3))) const void*)pointer));
}
__device__ __forceinline__ void Store16(float* to, const float (&from)[4]) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(SharedAddress(to)), "f"(from[0]), "f"(from[1]),
               "f"(from[2]), "f"(from[3])
               : "memory");
}
__device__ __forceinline__ void Store16(double* to, const double (&from)[2]) {
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(SharedAddress(to)), "d"(from[0]), "d"(from[1]) : "memory");
}

template <typename T>
struct Apart {
  T *x, *y;
  __device__ Complex<T> operator[](unsigned i) const { return {x[i], y[i]}; }
  __device__ void Set(unsigned i, Complex<T> value) const {
    x[i] = value.x;
    y[i] = value.y;
  }
  // From a multiple of 4 on, by 16 bytes at a time: lanes are rows apart, where each single number would be a scatter.
  template <int kCount>
  __device__ void SetRow(unsigned i, const Complex<T> (&values)[kCount]) const {
    constexpr int kAtATime = 16 / sizeof(T);
    static_assert(kCount % kAtATime == 0);
#pragma unroll
    for (int k = 0; k < kCount; k += kAtATime) {
      T real[kAtATime], imaginary[kAtATime];
#pragma unroll
      for (int n = 0; n < kAtATime; ++n) {
        real[n] = values[k + n].x;
        imaginary[n] = values[k + n].y;
      }
      Store16(x + i + k, real);
      Store16(y + i + k, imaginary);
    }
  }
};

template <typename T>
struct PassSigns {
  T in, out;
};

// The pass of radix kRadix after those whose radices have the product kS, of kN elements.
template <int kN, int kRadix, int kS, typename T, typename From, typename To>
__device__ __forceinline__ void PassOfWhole(From from, To to, const T* twiddles, PassSigns<T> signs) {
  constexpr unsigned kM = kN / kRadix / kS, kButterflies = kN / kRadix, kStep = kButterflies;
  const unsigned lane = threadIdx.x;
#pragma unroll 1
  for (unsigned first = 0; first < kButterflies; first += 32) {
    const unsigned j = first + lane;
    if (kButterflies % 32 != 0 && j >= kButterflies) break;
    // Kept apart so that the compiler sees what all lanes have in common.
    const unsigned p = kS >= 32 ? first / kS : first / kS + lane / kS;
    const unsigned q = kS >= 32 ? first % kS + lane : lane % kS;
    Complex<T> values[kRadix];
#pragma unroll
    for (unsigned r = 0; r < kRadix; ++r) {
      values[r] = from[j + r * kStep];
      if constexpr (kS == 1) values[r].y *= signs.in;
    }
    Butterfly<kRadix>(values);
    if constexpr (kS == 1) {
      const T* w = twiddles + first * (2 * (kRadix - 1)) + lane;
#pragma unroll
      for (unsigned r = 1; r < kRadix; ++r) values[r] = values[r] * Complex<T>{w[64 * (r - 1)], w[64 * (r - 1) + 32]};
    } else if constexpr (kM != 1) {
#pragma unroll
      for (unsigned r = 1; r < kRadix; ++r)
        values[r] = values[r] * reinterpret_cast<const Complex<T>*>(twiddles)[(r - 1) * kM + p];
    }
    if constexpr (kM == 1) {
#pragma unroll
      for (unsigned r = 0; r < kRadix; ++r) values[r].y *= signs.out;
    }
    if constexpr (kS == 1) {
      to.SetRow(kRadix * p, values);
    } else {
#pragma unroll
      for (unsigned r = 0; r < kRadix; ++r) to.Set(q + kS * (kRadix * p + r), values[r]);
    }
  }
  __syncwarp();
}

// kN = kFirst * kSecond * kThird; without a third pass it is 1.
template <typename T, int kFirst, int kSecond, int kThird>
__device__ __forceinline__ void Whole(const tutti::fft::PassArguments& a) {
  constexpr int kN = kFirst * kSecond * kThird;
  __shared__ __attribute__((aligned(16))) T x[kN], y[kN];
  const PassSigns<T> signs{static_cast<T>(a.in_sign), static_cast<T>(a.out_sign)};
  const auto* twiddles = reinterpret_cast<const T*>(a.common.table);
  const unsigned begin = blockIdx.x * a.common.units_per_block;
  const unsigned end =
      a.common.units - begin < a.common.units_per_block ? a.common.units : begin + a.common.units_per_block;
  for (unsigned row = begin; row < end; ++row) {
    // Nothing is written through `in`.
    const Interleaved<T> in{reinterpret_cast<Complex<T>*>(a.common.in) + row * a.common.in_pitch};
    const Interleaved<T> out{reinterpret_cast<Complex<T>*>(a.common.out) + row * a.common.out_pitch};
    Apart<T> between{x, y};  // not const: clang would make a constant of addresses of it
    constexpr int kM = kSecond * kThird, kTable = 2 * (kFirst - 1) * ((kM + 31) / 32 * 32);
    PassOfWhole<kN, kFirst, 1>(in, between, twiddles, signs);
    PassOfWhole<kN, kSecond, kFirst>(between, out, twiddles + kTable, signs);
    if constexpr (kThird != 1) PassOfWhole<kN, kThird, kFirst * kSecond>(out, out, twiddles, signs);
  }
}

}  // namespace fft
