// Host memory of the program's own, registered: copies use it where it lies, asynchronously and in stream order; kernels
// are refused it.
#include <cstdlib>

#include "program.h"

__global__ void Double(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

int main() {
  const int n = 50'000;
  const size_t bytes = n * sizeof(int);
  int* data = static_cast<int*>(malloc(bytes));
  for (int i = 0; i < n; ++i) data[i] = i;
  CUDA(cudaHostRegister(data, bytes, cudaHostRegisterDefault));
  int* device;
  CUDA(cudaMalloc(&device, bytes));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (int round = 0; round < 3; ++round) {
    CUDA(cudaMemcpyAsync(device, data, bytes, cudaMemcpyHostToDevice, stream));
    Double<<<(n + 255) / 256, 256, 0, stream>>>(device, n);
    CUDA(cudaMemcpyAsync(data, device, bytes, cudaMemcpyDeviceToHost, stream));
  }
  CUDA(cudaStreamSynchronize(stream));
  CHECK_EQ(data[n - 1], 8 * (n - 1));
  CHECK_EQ(cudaHostGetDevicePointer(&device, data, 0), cudaErrorNotSupported);
  CUDA(cudaHostUnregister(data));
  CHECK_EQ(cudaHostRegister(data, bytes, cudaHostRegisterMapped), cudaErrorNotSupported);
  CHECK_EQ(cudaGetLastError(), cudaErrorNotSupported);
  CHECK_EQ(data[n - 1], 8 * (n - 1));
  free(data);
  return Verdict();
}
