// The device reset and used again: memory and code are loaded anew.
#include "program.h"

__device__ int counter = 1;

__global__ void Count(int* out) { *out = ++counter; }

int RunOnce() {
  int *out, host = 0;
  CUDA(cudaMalloc(&out, sizeof(int)));
  Count<<<1, 1>>>(out);
  CUDA(cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
  return host;
}

int main() {
  CHECK_EQ(RunOnce(), 2);
  CHECK_EQ(RunOnce(), 3);
  CUDA(cudaDeviceReset());
  CHECK_EQ(RunOnce(), 2);
  return Verdict();
}
