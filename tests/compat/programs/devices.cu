// Three devices (TUTTI_CPU_DEVICES=3): each has its own memory, code and streams; copies work between them.
#include "program.h"

__device__ int where;

__global__ void Add(int* data, int value) {
  data[threadIdx.x] += value;
  where = value;
}

int main() {
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK_EQ(count, 3);
  int* data[3];
  for (int d = 0; d < 3; ++d) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaMalloc(&data[d], 32 * sizeof(int)));
    CUDA(cudaMemset(data[d], 0, 32 * sizeof(int)));
    Add<<<1, 32>>>(data[d], d + 1);
    CUDA(cudaGetLastError());
  }
  for (int d = 0; d < 3; ++d) {
    int value = 0, global = 0;
    CUDA(cudaSetDevice(d));
    CUDA(cudaMemcpy(&value, data[d] + 31, sizeof value, cudaMemcpyDeviceToHost));
    CHECK_EQ(value, d + 1);
    CUDA(cudaMemcpyFromSymbol(&global, where, sizeof global));
    CHECK_EQ(global, d + 1);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, data[d]));
    CHECK_EQ(attributes.device, d);
    CHECK_EQ(attributes.type, cudaMemoryTypeDevice);
  }
  int can = 0, value = 0;
  CUDA(cudaDeviceCanAccessPeer(&can, 0, 2));
  CHECK_EQ(can, 1);
  CUDA(cudaMemcpyPeer(data[0], 0, data[2], 2, 32 * sizeof(int)));
  CUDA(cudaMemcpy(&value, data[0], sizeof value, cudaMemcpyDefault));
  CHECK_EQ(value, 3);
  return Verdict();
}
