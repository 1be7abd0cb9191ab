// Host functions and callbacks in stream order.
#include "program.h"

__global__ void Add(int* data) { ++*data; }

struct Seen {
  int* data;
  int values[2] = {-1, -1};
  cudaError_t status = cudaErrorUnknown;
};

int main() {
  Seen seen;
  CUDA(cudaMallocHost(&seen.data, sizeof(int)));
  *seen.data = 0;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  Add<<<1, 1, 0, stream>>>(seen.data);
  CUDA(cudaLaunchHostFunc(
      stream, [](void* user) { static_cast<Seen*>(user)->values[0] = *static_cast<Seen*>(user)->data; }, &seen));
  Add<<<1, 1, 0, stream>>>(seen.data);
  CUDA(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* user) {
        static_cast<Seen*>(user)->values[1] = *static_cast<Seen*>(user)->data;
        static_cast<Seen*>(user)->status = status;
      },
      &seen, 0));
  CUDA(cudaStreamSynchronize(stream));
  CHECK_EQ(seen.values[0], 1);
  CHECK_EQ(seen.values[1], 2);
  CHECK_EQ(seen.status, cudaSuccess);
  CUDA(cudaStreamDestroy(stream));
  return Verdict();
}
