// The names of CUDA C++ that our kernels use. clang compiles them without a toolkit (cmake/device_code.cmake includes
// this in front of each), so these are ours.
#pragma once

#include <__clang_cuda_builtin_vars.h>

#include <cstddef>
#include <cstdint>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

__device__ __forceinline__ void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }

__device__ __forceinline__ int __shfl_down_sync(unsigned mask, int value, unsigned delta) {
  return __nvvm_shfl_sync_down_i32(mask, value, static_cast<int>(delta), 31);
}
__device__ __forceinline__ float __shfl_down_sync(unsigned mask, float value, unsigned delta) {
  return __nvvm_shfl_sync_down_f32(mask, value, static_cast<int>(delta), 31);
}
__device__ __forceinline__ int __shfl_xor_sync(unsigned mask, int value, int lanes) {
  return __nvvm_shfl_sync_bfly_i32(mask, value, lanes, 31);
}
__device__ __forceinline__ float __shfl_xor_sync(unsigned mask, float value, int lanes) {
  return __nvvm_shfl_sync_bfly_f32(mask, value, lanes, 31);
}
__device__ __forceinline__ double __shfl_xor_sync(unsigned mask, double value, int lanes) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto low = static_cast<uint32_t>(__shfl_xor_sync(mask, static_cast<int>(bits), lanes));
  const auto high = static_cast<uint32_t>(__shfl_xor_sync(mask, static_cast<int>(bits >> 32), lanes));
  return __builtin_bit_cast(double, static_cast<uint64_t>(high) << 32 | low);
}

// One rounding for a product and a sum.
__device__ __forceinline__ float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ __forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
