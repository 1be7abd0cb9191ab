// Built with --default-stream per-thread: the default stream of one thread does not hold up another's.
#include <thread>

#include "program.h"

__global__ void Wait(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void Store(int* out, int value) { *out = value; }

int main() {
  int *flag, *out;
  CUDA(cudaMallocManaged(&flag, sizeof(int)));
  CUDA(cudaMallocManaged(&out, sizeof(int)));
  *flag = 0;
  *out = 0;
  Wait<<<1, 1>>>(flag);
  CHECK_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  std::thread([&] {
    Store<<<1, 1>>>(out, 5);
    CUDA(cudaStreamSynchronize(0));
    CHECK_EQ(*out, 5);
  }).join();
  *static_cast<volatile int*>(flag) = 1;
  CUDA(cudaStreamSynchronize(0));
  CHECK_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
  return Verdict();
}
