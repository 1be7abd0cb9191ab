// A vector's values in device memory, and back.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "program.h"

// The caller frees it.
template <typename T>
T* Device(const std::vector<T>& values) {
  T* memory;
  CUDA(cudaMalloc(&memory, values.size() * sizeof(T)));
  CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}
template <typename T>
std::vector<T> Host(const T* memory, size_t count) {
  std::vector<T> values(count);
  CUDA(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
