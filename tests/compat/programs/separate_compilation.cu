// Built with -rdc=true: its code is linked when it is loaded. Calls go through a table of function pointers as well.
#include "program.h"

__device__ __noinline__ int Double(int x) { return 2 * x; }
__device__ __noinline__ int Square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {Double, Square};

__global__ void Apply(int* data) { data[threadIdx.x] = table[threadIdx.x % 2](threadIdx.x); }

int main() {
  int* data;
  CUDA(cudaMallocManaged(&data, 32 * sizeof(int)));
  Apply<<<1, 32>>>(data);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[10], 20);
  CHECK_EQ(data[11], 121);
  return Verdict();
}
