// Mistakes get CUDA's errors: those of a call are transient, those of a kernel sticky until the device is reset.
#include "program.h"

__global__ void Nothing() {}
__global__ __launch_bounds__(64) void AtMost64Threads() {}
__global__ void Stray(int* address) { *address = 1; }

// Grids and blocks that no kernel could have are told from those that this kernel cannot have.
void Shapes() {
  Nothing<<<1, 2048>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  CHECK_EQ(cudaGetLastError(), cudaSuccess);
  Nothing<<<0, 32>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<1, 0>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<dim3(1, 70000), 32>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<1, dim3(1, 1, 65)>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  AtMost64Threads<<<1, 65>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<1, 32, 100 << 10>>>();
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  CHECK_EQ(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Nothing), dim3(1 << 20), dim3(256), nullptr, 0, nullptr),
           cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
}

int main() {
  Shapes();
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
