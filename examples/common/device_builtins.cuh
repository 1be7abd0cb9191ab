// Lets the kernels be compiled to PTX by clang alone, with no CUDA toolkit (examples/make_ptx): the few names of CUDA C++
// that they use. nvcc never sees this file.
#pragma once

#include <__clang_cuda_builtin_vars.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

using uint32_t = unsigned int;
using uint64_t = unsigned long long;

static inline __device__ int atomicAdd(int* address, int value) { return __nvvm_atom_add_gen_i(address, value); }
static inline __device__ unsigned atomicAdd(unsigned* address, unsigned value) {
  return static_cast<unsigned>(__nvvm_atom_add_gen_i(reinterpret_cast<int*>(address), static_cast<int>(value)));
}
static inline __device__ unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return static_cast<unsigned long long>(
      __nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(address), static_cast<long long>(value)));
}
static inline __device__ unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned delta) {
  return static_cast<unsigned>(
      __nvvm_shfl_sync_down_i32(mask, static_cast<int>(value), static_cast<int>(delta), 31));
}
static inline __device__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline __device__ float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
