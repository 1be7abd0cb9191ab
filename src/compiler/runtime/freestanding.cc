// Functions that LLVM may call by name in any code it generates. Kernels have no C library, so these are ours: block
// copies, and on processors without the instruction the conversions of half precision (soft_fma.cc: fused
// multiply-add). Compiled to an object that every kernel is linked with; the linker drops what a kernel does not call.
#include <stddef.h>

#include "compiler/runtime/vector.h"

namespace {

TUTTI_INLINE uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
TUTTI_INLINE float FloatOf(uint32_t x) { return __builtin_bit_cast(float, x); }

// To nearest, ties to even.
TUTTI_INLINE uint16_t HalfOfDouble(double value) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const uint64_t magnitude = bits & 0x7fffffffffffffff;
  if (magnitude > 0x7ff0000000000000) return sign | 0x7e00 | static_cast<uint16_t>(bits >> 42 & 0x1ff);
  if (magnitude >= 0x40effe0000000000) return sign | 0x7c00;  // 65520 and above
  if (magnitude < 0x3f10000000000000) {                       // below 2^-14: subnormal
    // Adding 0.75 * 2^29 puts the last bit of a half subnormal, 2^-24, at the last bit of the sum.
    const double shifted = __builtin_bit_cast(double, magnitude) + 0x1.8p28;
    return sign | static_cast<uint16_t>(__builtin_bit_cast(uint64_t, shifted) & 0xffff);
  }
  const uint64_t rounded = magnitude + 0x1ffffffffff + (magnitude >> 42 & 1);
  return sign | static_cast<uint16_t>((rounded >> 42) - (1008ull << 10));
}

}  // namespace

TUTTI_SUPPORT void* memcpy(void* to, const void* from, size_t bytes) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return result;
}

TUTTI_SUPPORT void* memmove(void* to, const void* from, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= bytes) return memcpy(to, from, bytes);
  auto* last_to = static_cast<uint8_t*>(to) + bytes;
  auto* last_from = static_cast<const uint8_t*>(from) + bytes;
  while (bytes-- != 0) {
    *--last_to = *--last_from;
    asm volatile("" : : : "memory");  // keeps LLVM from recognising this loop as a memmove
  }
  return to;
}

TUTTI_SUPPORT void* memset(void* to, int value, size_t bytes) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return result;
}

TUTTI_SUPPORT float __extendhfsf2(_Float16 value) {
  const uint32_t half = __builtin_bit_cast(uint16_t, value);
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return FloatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // A half's bits moved to a float's place have an exponent 112 too low; one multiplication corrects that, also of
  // subnormals.
  return FloatOf(sign | BitsOf(FloatOf(magnitude << 13) * 0x1p112f));
}

TUTTI_SUPPORT _Float16 __truncdfhf2(double value) { return __builtin_bit_cast(_Float16, HalfOfDouble(value)); }
TUTTI_SUPPORT _Float16 __truncsfhf2(float value) { return __builtin_bit_cast(_Float16, HalfOfDouble(value)); }
