// Managed memory, allocated and declared: one pointer on both sides.
#include "program.h"

__managed__ int total = 10;

__global__ void Sum(const int* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total, data[i]);
}

int main() {
  int* data;
  CUDA(cudaMallocManaged(&data, 1000 * sizeof(int)));
  for (int i = 0; i < 1000; ++i) data[i] = i;
  Sum<<<1, 128>>>(data, 1000);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(total, 499'510);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, data));
  CHECK_EQ(attributes.type, cudaMemoryTypeManaged);
  CUDA(cudaFree(data));
  return Verdict();
}
