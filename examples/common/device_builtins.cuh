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

static inline __device__ unsigned atomicCAS(unsigned* address, unsigned compare, unsigned value) {
  return static_cast<unsigned>(__nvvm_atom_cas_gen_i(reinterpret_cast<int*>(address), static_cast<int>(compare), static_cast<int>(value)));
}
static inline __device__ unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned delta) {
  return static_cast<unsigned>(__nvvm_shfl_sync_up_i32(mask, static_cast<int>(value), static_cast<int>(delta), 0));
}
static inline __device__ float __shfl_xor_sync(unsigned mask, float value, unsigned lanes) {
  return __nvvm_shfl_sync_bfly_f32(mask, value, static_cast<int>(lanes), 31);
}
static inline __device__ float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950409f); }
static inline __device__ float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471806f; }
static inline __device__ float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
static inline __device__ float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
static inline __device__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
static inline __device__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline __device__ int max(int a, int b) { return a > b ? a : b; }
static inline __device__ unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
struct float2 { float x, y; } __attribute__((aligned(8)));
