// The heap of malloc in kernels is as large as the program has asked for, and gives no more.
#include "program.h"

// How many pieces of 1 MiB there are; all of them are given back.
__global__ void Count(int* count) {
  void* last = nullptr;
  for (*count = 0; *count < 1000; ++*count) {
    void** piece = static_cast<void**>(malloc(1 << 20));
    if (piece == nullptr) break;
    *piece = last;
    last = piece;
  }
  while (last != nullptr) {
    void* before = *static_cast<void**>(last);
    free(last);
    last = before;
  }
}

int main() {
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  size_t limit = 0;
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK_EQ(limit, size_t{64} << 20);
  int* count;
  CUDA(cudaMallocManaged(&count, sizeof(int)));
  for (int round = 0; round < 2; ++round) {
    Count<<<1, 1>>>(count);
    CUDA(cudaDeviceSynchronize());
    CHECK_EQ(*count >= 60 && *count <= 64, true);
  }
  return Verdict();
}
