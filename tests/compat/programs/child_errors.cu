// What goes wrong in launches by kernels, as cudaGetLastError in the kernel has it; and what kernels may ask.
#include "program.h"

#include <cstring>

__global__ void Nothing() {}
__global__ void Waits(volatile int* go) {
  while (*go == 0) __nanosleep(1000);
}

__global__ void BadLaunches(int* found) {
  Nothing<<<1, 2000>>>();
  found[0] = cudaPeekAtLastError();
  found[1] = cudaGetLastError();
  found[2] = cudaGetLastError();
  Nothing<<<0, 1>>>();
  found[3] = cudaGetLastError();
  Nothing<<<1, 1, 1 << 20>>>();
  found[4] = cudaGetLastError();
  Nothing<<<1, 1, 0, reinterpret_cast<cudaStream_t>(0x1234567)>>>();
  found[5] = cudaGetLastError();
  found[6] = cudaStreamDestroy(reinterpret_cast<cudaStream_t>(0x1234567));
  cudaStream_t stream;
  found[7] = cudaStreamCreateWithFlags(&stream, 0);
  found[8] = cudaMemsetAsync(reinterpret_cast<void*>(16), 0, 4);
  cudaGetLastError();
  Nothing<<<1, 1>>>();
  found[9] = cudaGetLastError();
  found[10] = cudaMemset2DAsync(found + 20, 4, 0, 8, 2);
  found[11] = cudaMemcpy2DAsync(found + 20, 8, found + 30, 4, 8, 2, cudaMemcpyDeviceToDevice);
  cudaGetLastError();
}

__global__ void Deeper(int* depth, int* error) {
  ++*depth;
  Deeper<<<1, 1>>>(depth, error);
  const cudaError_t failed = cudaGetLastError();
  if (failed != cudaSuccess) *error = failed;
}

// Launches more than may wait.
__global__ void TooMany(int* go, int* launched, int* error) {
  Waits<<<1, 1>>>(go);
  for (;;) {
    Nothing<<<1, 1>>>();
    *error = cudaGetLastError();
    if (*error != cudaSuccess) break;
    ++*launched;
  }
  *reinterpret_cast<volatile int*>(go) = 1;
}

__global__ void Asks(int* found, char* text, size_t* limit) {
  found[0] = cudaDeviceGetAttribute(&found[1], cudaDevAttrMaxThreadsPerBlock, 0);
  found[2] = cudaGetDevice(&found[3]);
  found[4] = cudaGetDeviceCount(&found[5]);
  found[6] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found[7], Nothing, 1024, 0);
  cudaFuncAttributes attributes;
  found[8] = cudaFuncGetAttributes(&attributes, Nothing);
  found[9] = attributes.maxThreadsPerBlock;
  found[10] = cudaDeviceGetLimit(limit, cudaLimitDevRuntimePendingLaunchCount);
  found[11] = cudaDeviceGetAttribute(&found[1], cudaDevAttrMaxThreadsPerBlock, 77);
  found[12] = cudaFuncGetAttributes(&attributes, text);
  void* memory = nullptr;
  found[13] = cudaMalloc(&memory, 64);
  found[14] = memory != nullptr;
  found[15] = cudaFree(memory);
  const char* const from = cudaGetErrorString(cudaErrorLaunchMaxDepthExceeded);
  for (int i = 0; i < 100 && (text[i] = from[i]) != 0; ++i) {
  }
  const char* const name = cudaGetErrorName(cudaErrorInvalidValue);
  for (int i = 0; i < 100 && (text[100 + i] = name[i]) != 0; ++i) {
  }
}

int main() {
  int* found;
  CUDA(cudaMallocManaged(&found, 4096));
  const auto clear = [found] { std::memset(found, 0xff, 4096); };
  clear();
  BadLaunches<<<1, 1>>>(found);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(found[0], cudaErrorInvalidConfiguration);
  CHECK_EQ(found[1], cudaErrorInvalidConfiguration);
  CHECK_EQ(found[2], cudaSuccess);
  CHECK_EQ(found[3], cudaErrorInvalidConfiguration);
  CHECK_EQ(found[4], cudaErrorLaunchOutOfResources);
  CHECK_EQ(found[5], cudaErrorInvalidResourceHandle);
  CHECK_EQ(found[6], cudaErrorInvalidResourceHandle);
  CHECK_EQ(found[7], cudaErrorInvalidValue);
  CHECK_EQ(found[8], cudaErrorInvalidValue);
  CHECK_EQ(found[9], cudaSuccess);
  CHECK_EQ(found[10], cudaErrorInvalidPitchValue);
  CHECK_EQ(found[11], cudaErrorInvalidPitchValue);

  found[0] = found[1] = 0;
  Deeper<<<1, 1>>>(found, found + 1);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(found[0], 25);  // the client's own, and 24 levels of launches
  CHECK_EQ(found[1], cudaErrorLaunchMaxDepthExceeded);

  size_t pending = 0;
  CUDA(cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount));
  CHECK_EQ(pending, 2048u);
  found[0] = found[1] = found[2] = 0;
  TooMany<<<1, 1>>>(found, found + 1, found + 2);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(found[1], 2047);
  CHECK_EQ(found[2], cudaErrorLaunchPendingCountExceeded);

  clear();
  char* const text = reinterpret_cast<char*>(found + 64);
  size_t* const limit = reinterpret_cast<size_t*>(found + 256);
  CUDA(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 77));
  Asks<<<1, 1>>>(found, text, limit);
  CUDA(cudaDeviceSynchronize());
  int blocks = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Nothing, 1024, 0));
  const int expected[] = {0, 1024, 0, 0, 0, 1, 0, blocks, 0, 1024, 0, cudaErrorInvalidDevice, cudaErrorInvalidDeviceFunction,
                          0, 1, 0};
  for (int i = 0; i < 16; ++i) {
    if (found[i] != expected[i]) std::fprintf(stderr, "asked %d: ", i);
    CHECK_EQ(found[i], expected[i]);
  }
  CHECK_EQ(*limit, 77u);
  CHECK_EQ(std::strcmp(text, cudaGetErrorString(cudaErrorLaunchMaxDepthExceeded)), 0);
  CHECK_EQ(std::strcmp(text + 100, "cudaErrorInvalidValue"), 0);
  return Verdict();
}
