// Vectors of one warp, for the guest runtime. This folder's *.cc except guest_runtime.cc and bake_runtime.cc are not
// part of Tutti's programs: clang compiles them to LLVM bitcode, which the compiler links into kernels
// (guest_runtime.h). They stand alone: no library, no state, no assumptions about the processor.
#pragma once

#include <stdint.h>

#ifndef TUTTI_LANES
#define TUTTI_LANES 32
#endif

typedef float F32 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef double F64 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef int8_t I8 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef int16_t I16 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef int32_t I32 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef int64_t I64 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef uint32_t U32 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef uint64_t U64 __attribute__((ext_vector_type(TUTTI_LANES)));

// A function that kernels may call. Vectors by value; a set of lanes is a uint32_t, bit l for lane l.
#ifndef TUTTI_EXPORT
#define TUTTI_EXPORT extern "C" __attribute__((visibility("default"), nothrow))
#endif
// One of the support object, which the linker resolves and nobody outside the kernel may see or replace.
#define TUTTI_SUPPORT extern "C" __attribute__((visibility("hidden"), nothrow))
// An exported function that is short enough to be copied to where it is called.
#define TUTTI_IN_PLACE __attribute__((always_inline))
#define TUTTI_INLINE static inline __attribute__((always_inline))
#define TUTTI_MEMBER inline __attribute__((always_inline))

namespace tutti::guest_runtime {

TUTTI_INLINE I32 Bits(F32 x) { return __builtin_bit_cast(I32, x); }
TUTTI_INLINE I64 Bits(F64 x) { return __builtin_bit_cast(I64, x); }
TUTTI_INLINE F32 Float(I32 x) { return __builtin_bit_cast(F32, x); }
TUTTI_INLINE F32 Splat(float x) { return F32(x); }
TUTTI_INLINE F32 MulAdd(F32 a, F32 b, F32 c) { return __builtin_elementwise_fma(a, b, c); }

// Polynomial with coefficients from the highest power down.
template <int kCount>
TUTTI_INLINE F32 Horner(F32 x, const float (&coefficients)[kCount]) {
  F32 sum = Splat(coefficients[0]);
#pragma clang loop unroll(full)
  for (int i = 1; i < kCount; ++i) sum = MulAdd(sum, x, Splat(coefficients[i]));
  return sum;
}

// Calls body(lane) for each lane of `mask`, in ascending order: the order of a warp's atomics.
template <typename Body>
TUTTI_INLINE void ForEachLane(uint32_t mask, Body body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<uint32_t>(__builtin_ctz(mask)));
}

}  // namespace tutti::guest_runtime
