// Globals and constants by their names.
#include "program.h"

__constant__ int factor;
__device__ int results[32];
__device__ int counter = 5;

__global__ void Scale() {
  results[threadIdx.x] = threadIdx.x * factor;
  if (threadIdx.x == 0) ++counter;
}

int main() {
  const int seven = 7;
  CUDA(cudaMemcpyToSymbol(factor, &seven, sizeof seven));
  Scale<<<1, 32>>>();
  int host[32] = {};
  CUDA(cudaMemcpyFromSymbol(host, results, sizeof host));
  CHECK_EQ(host[31], 217);
  int count = 0;
  CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  CHECK_EQ(count, 6);
  void* address = nullptr;
  size_t size = 0;
  CUDA(cudaGetSymbolAddress(&address, results));
  CUDA(cudaGetSymbolSize(&size, results));
  CHECK_EQ(size, sizeof host);
  CUDA(cudaMemset(address, 0, size));
  CUDA(cudaMemcpyFromSymbol(host, results, sizeof host));
  CHECK_EQ(host[31], 0);
  return Verdict();
}
