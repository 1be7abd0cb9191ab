// Arithmetic on untrusted numbers: the sum or product, or nothing on overflow.
#pragma once

#include <concepts>
#include <optional>

namespace tutti {

template <std::unsigned_integral T>
constexpr std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::unsigned_integral T>
constexpr std::optional<T> CheckedMul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// True if [offset, offset + size) lies inside [0, limit).
template <std::unsigned_integral T>
constexpr bool InRange(T offset, T size, T limit) {
  return size <= limit && offset <= limit - size;
}

// `value` rounded up to a multiple of `alignment` (a power of two). The caller guarantees that it does not overflow.
template <std::unsigned_integral T>
constexpr T AlignUp(T value, T alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace tutti
