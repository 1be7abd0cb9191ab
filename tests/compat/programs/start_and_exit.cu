// Starts the runtime, queries it, and exits without cleaning up; a static object still frees its memory at exit.
#include "program.h"

struct Holder {
  void* memory = nullptr;
  ~Holder() {
    if (cudaFree(memory) != cudaSuccess) std::_Exit(3);
  }
} holder;

int main() {
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK_EQ(count >= 1, true);
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  CHECK_EQ(properties.warpSize, 32);
  CHECK_EQ(properties.maxThreadsPerBlock, 1024);
  CUDA(cudaMalloc(&holder.memory, 1000));
  return Verdict();
}
