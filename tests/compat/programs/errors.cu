// Mistakes get CUDA's errors: those of a call pass, those of a kernel stick until the device is reset.
#include "program.h"

__global__ void Nothing() {}
__global__ void Stray(int* address) { *address = 1; }

int main() {
  Nothing<<<1, 2048>>>();
  CHECK_EQ(cudaGetLastError() != cudaSuccess, true);
  CHECK_EQ(cudaGetLastError(), cudaSuccess);
  void* memory = nullptr;
  CHECK_EQ(cudaMalloc(&memory, size_t{1} << 60), cudaErrorMemoryAllocation);
  CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  CUDA(cudaMalloc(&memory, 64));
  CHECK_EQ(cudaFree(static_cast<char*>(memory) + 8), cudaErrorInvalidValue);
  CUDA(cudaFree(memory));
  CHECK_EQ(cudaFree(memory), cudaErrorInvalidValue);
  cudaGetLastError();
  Nothing<<<1, 1>>>();
  CUDA(cudaDeviceSynchronize());

  Stray<<<1, 1>>>(reinterpret_cast<int*>(0xdead0000));
  CHECK_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorIllegalAddress);
  CUDA(cudaDeviceReset());
  CUDA(cudaMalloc(&memory, 64));
  Nothing<<<1, 1>>>();
  CUDA(cudaDeviceSynchronize());
  return Verdict();
}
