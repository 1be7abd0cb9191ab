// Built with machine code only, for sm_80, and -lineinfo: the machine code carries the PTX that it was made from.
#include "program.h"

__constant__ int offset = 3;
__device__ int sum;
__device__ __noinline__ int Twice(int x) { return 2 * x; }

__global__ void Scale(int* data) { data[threadIdx.x] = Twice(threadIdx.x) + offset; }
__global__ void Sum(const int* data) { atomicAdd(&sum, data[threadIdx.x]); }

int main() {
  int* data;
  CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
  Scale<<<1, 64>>>(data);
  Sum<<<1, 64>>>(data);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[10], 23);
  int total;
  CUDA(cudaMemcpyFromSymbol(&total, sum, sizeof total));
  CHECK_EQ(total, 64 * 63 + 64 * 3);
  return Verdict();
}
