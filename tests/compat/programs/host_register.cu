// Host memory of the program's own, registered and used by a kernel in place.
#include <cstdlib>

#include "program.h"

__global__ void Double(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

int main() {
  const int n = 50'000;
  int* data = static_cast<int*>(malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) data[i] = i;
  CUDA(cudaHostRegister(data, n * sizeof(int), cudaHostRegisterMapped));
  int* device;
  CUDA(cudaHostGetDevicePointer(&device, data, 0));
  Double<<<(n + 255) / 256, 256>>>(device, n);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[n - 1], 2 * (n - 1));
  data[0] = 21;
  Double<<<1, 1>>>(device, 1);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[0], 42);
  CUDA(cudaHostUnregister(data));
  CHECK_EQ(data[n - 1], 2 * (n - 1));
  free(data);
  return Verdict();
}
