// Elements as kernels compute with them, and as they are in memory.
#pragma once

#include "libraries/blas/tasks.h"

namespace tutti::blas {

template <typename R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

// What differs between real and complex elements.
template <typename T>
struct Traits {
  using Real = T;
  static constexpr bool kComplex = false;
  static constexpr bool kFraction = static_cast<T>(0.5) != 0;  // not integers
};
template <typename R>
struct Traits<Complex<R>> {
  using Real = R;
  static constexpr bool kComplex = true;
  static constexpr bool kFraction = true;
};

__device__ __forceinline__ float MultiplyAdd(float a, float b, float c) { return fma(a, b, c); }
__device__ __forceinline__ double MultiplyAdd(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ int32_t MultiplyAdd(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) + static_cast<uint32_t>(c));
}
template <typename R>
__device__ __forceinline__ Complex<R> MultiplyAdd(Complex<R> a, Complex<R> b, Complex<R> c) {
  return {fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}
template <typename T>
__device__ __forceinline__ T Conjugate(T a) {
  if constexpr (Traits<T>::kComplex) a.im = -a.im;
  return a;
}
template <typename T>
__device__ __forceinline__ T RealPart(T a) {
  if constexpr (Traits<T>::kComplex) a.im = 0;
  return a;
}
template <typename T>
__device__ __forceinline__ T Make(double re, double im) {
  if constexpr (Traits<T>::kComplex) {
    using R = typename Traits<T>::Real;
    return {static_cast<R>(re), static_cast<R>(im)};
  } else {
    return static_cast<T>(re);
  }
}
template <typename T>
__device__ __forceinline__ T Zero() {
  return T{};
}
template <typename T>
__device__ __forceinline__ T Multiply(T a, T b) {
  if constexpr (Traits<T>::kComplex) {
    return {fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
  } else {
    return a * b;
  }
}
template <typename T>
__device__ __forceinline__ T Add(T a, T b) {
  if constexpr (Traits<T>::kComplex) {
    return {a.re + b.re, a.im + b.im};
  } else {
    return a + b;
  }
}
template <typename T>
__device__ __forceinline__ T Negate(T a) {
  if constexpr (Traits<T>::kComplex) {
    return {-a.re, -a.im};
  } else {
    return -a;
  }
}
template <typename T>
__device__ __forceinline__ T Scale(T a, typename Traits<T>::Real factor) {
  if constexpr (Traits<T>::kComplex) {
    return {a.re * factor, a.im * factor};
  } else {
    return a * factor;
  }
}
template <typename T>
__device__ __forceinline__ bool IsZero(T a) {
  if constexpr (Traits<T>::kComplex) {
    return a.re == 0 && a.im == 0;
  } else {
    return a == 0;
  }
}
// |re| + |im|, by which pivots and the largest elements are chosen.
template <typename T>
__device__ __forceinline__ typename Traits<T>::Real Magnitude(T a) {
  if constexpr (Traits<T>::kComplex) {
    return __builtin_fabs(a.re) + __builtin_fabs(a.im);
  } else {
    return __builtin_fabs(a);
  }
}
// The sum of all lanes' values.
template <typename T>
__device__ __forceinline__ T SumOfLanes(T sum) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    if constexpr (Traits<T>::kComplex) {
      sum.re += __shfl_xor_sync(0xffffffff, sum.re, lanes);
      sum.im += __shfl_xor_sync(0xffffffff, sum.im, lanes);
    } else {
      sum += __shfl_xor_sync(0xffffffff, sum, lanes);
    }
  }
  return sum;
}
// a / b. Complex numbers are divided by scaling, so that squares do not overflow (Smith 1962).
template <typename T>
__device__ __forceinline__ T Divide(T a, T b) {
  if constexpr (Traits<T>::kComplex) {
    using R = typename Traits<T>::Real;
    const bool swap = __builtin_fabs(b.re) < __builtin_fabs(b.im);
    const R large = swap ? b.im : b.re, small = swap ? b.re : b.im;
    const R ratio = small / large, scale = fma(small, ratio, large);
    const R re = swap ? fma(a.re, ratio, a.im) : fma(a.im, ratio, a.re);
    const R im = swap ? fma(a.im, ratio, -a.re) : fma(-a.re, ratio, a.im);
    return {re / scale, im / scale};
  } else {
    return a / b;
  }
}

// bfloat16: the upper half of a float, rounded to nearest even.
__device__ __forceinline__ float FromBrain(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
__device__ __forceinline__ uint16_t ToBrain(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Element `index` of an array of `type`, computed with as T. Types that T does not hold are read as zero; the functions
// that launch do not ask for them.
template <typename T>
__device__ __forceinline__ T LoadAs(const void* data, int64_t index, Type type) {
  if constexpr (Traits<T>::kComplex) {
    return static_cast<const T*>(data)[index];
  } else if constexpr (sizeof(T) == 8) {
    return type == Type::kF64 ? static_cast<const T*>(data)[index] : static_cast<T>(static_cast<const float*>(data)[index]);
  } else if constexpr (!Traits<T>::kFraction) {
    return type == Type::kS8 ? static_cast<const int8_t*>(data)[index] : static_cast<const int32_t*>(data)[index];
  } else {
    switch (type) {
      case Type::kF32: return static_cast<const float*>(data)[index];
      case Type::kF16: return static_cast<float>(static_cast<const _Float16*>(data)[index]);
      case Type::kBF16: return FromBrain(static_cast<const uint16_t*>(data)[index]);
      case Type::kS8: return static_cast<float>(static_cast<const int8_t*>(data)[index]);
      case Type::kS32: return static_cast<float>(static_cast<const int32_t*>(data)[index]);
      default: return 0;
    }
  }
}

template <typename T>
__device__ __forceinline__ void StoreAs(void* data, int64_t index, Type type, T value) {
  if constexpr (Traits<T>::kComplex || sizeof(T) == 8) {
    static_cast<T*>(data)[index] = value;
  } else if constexpr (!Traits<T>::kFraction) {
    static_cast<int32_t*>(data)[index] = value;
  } else {
    switch (type) {
      case Type::kF32: static_cast<float*>(data)[index] = value; break;
      case Type::kF16: static_cast<_Float16*>(data)[index] = static_cast<_Float16>(value); break;
      case Type::kBF16: static_cast<uint16_t*>(data)[index] = ToBrain(value); break;
      case Type::kS8: {
        const float bounded = value < -128 ? -128 : value > 127 ? 127 : value;
        static_cast<int8_t*>(data)[index] = static_cast<int8_t>(__builtin_rintf(bounded));
        break;
      }
      default: break;
    }
  }
}

template <typename T>
__device__ __forceinline__ T PlainValue(const Scalar& scalar) {
  if (scalar.place == nullptr) return Make<T>(scalar.re, scalar.im);
  switch (scalar.type) {
    case Type::kF32: return Make<T>(*static_cast<const float*>(scalar.place), 0);
    case Type::kF64: return Make<T>(*static_cast<const double*>(scalar.place), 0);
    case Type::kF16: return Make<T>(static_cast<float>(*static_cast<const _Float16*>(scalar.place)), 0);
    case Type::kBF16: return Make<T>(FromBrain(*static_cast<const uint16_t*>(scalar.place)), 0);
    case Type::kS32: return Make<T>(*static_cast<const int32_t*>(scalar.place), 0);
    case Type::kC32: {
      const auto* const value = static_cast<const Complex<float>*>(scalar.place);
      return Make<T>(value->re, value->im);
    }
    case Type::kC64: {
      const auto* const value = static_cast<const Complex<double>*>(scalar.place);
      return Make<T>(value->re, value->im);
    }
    default: return Zero<T>();
  }
}
template <typename T>
__device__ __forceinline__ T Value(const Scalar& scalar) {
  const T value = PlainValue<T>(scalar);
  return scalar.conjugated ? Conjugate(value) : value;
}

}  // namespace tutti::blas

// Kernels are compiled once for each type of elements: -DELEMENT=, which is also in their names.
#define CONCATENATE2(a, b) a##b
#define CONCATENATE(a, b) CONCATENATE2(a, b)
