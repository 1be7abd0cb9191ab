// The device as a step uses it: a context, kernels by name, words of host memory that a kernel can see. Any error in
// here ends the process (frame/call.h).
#pragma once

#include <cstdint>
#include <vector>

#include "frame/call.h"

namespace tutti::gpu {

// The first device's primary context, current in this thread.
struct Gpu {
  cuda::CUdevice device = 0;
  cuda::CUcontext context = nullptr;
  double init_ms = 0;     // of cuInit
  double context_ms = 0;  // until the context was there
  double kernel_ms = 0;   // from then until a first kernel was done: its module is loaded, too
};
// Opens the driver, too.
Gpu OpenGpu();
// Opens the driver and initialises it: no context.
cuda::CUdevice OpenDriver();

cuda::CUmodule Load(const char* ptx);
cuda::CUfunction FunctionOf(cuda::CUmodule module, const char* name);
// A kernel of frame/kernels.h, whose module is loaded at the first call.
cuda::CUfunction Kernel(const char* name);

// Launches; any result.
template <typename... A>
int TryLaunch(cuda::CUfunction function, unsigned grid, unsigned block, cuda::CUstream stream, A... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return CU_TRY(cuLaunchKernel, function, grid, 1u, 1u, block, 1u, 1u, 0u, stream, static_cast<void**>(pointers),
                static_cast<void**>(nullptr));
}
template <typename... A>
void Launch(cuda::CUfunction function, unsigned grid, unsigned block, cuda::CUstream stream, A... arguments) {
  Check("cuLaunchKernel", TryLaunch(function, grid, block, stream, arguments...));
}

cuda::CUstream NewStream();  // non-blocking
int Attribute(cuda::CUdevice device, int attribute);
int MultiprocessorCount(cuda::CUdevice device);
double FreeMib();  // of the device, all processes together
// Bytes that a step may take: three quarters of what is free, at most 100 GiB; little in a small run.
uint64_t MemoryBudget();

// Words that the host and kernels share; zero.
class SharedWords {
 public:
  explicit SharedWords(size_t count);
  volatile uint64_t& operator[](size_t i) { return host_[i]; }
  cuda::CUdeviceptr at(size_t i) const { return device_ + i * 8; }

 private:
  volatile uint64_t* host_ = nullptr;
  cuda::CUdeviceptr device_ = 0;
};

// Kernels that occupy a stream until they are told to end, or `limit_ms` have passed.
class Holder {
 public:
  Holder() : words_(1) {}
  void Start(cuda::CUstream stream, double limit_ms, unsigned blocks = 1);
  void Release() { words_[0] = 1; }
  // For the next Start, after the last kernel has ended.
  void Rearm() { words_[0] = 0; }

 private:
  SharedWords words_;
};

// Words of device memory that depend on their place and a seed: written by a kernel, and compared by one. The number of
// words that differ.
void FillPattern(cuda::CUdeviceptr at, uint64_t bytes, uint64_t seed, cuda::CUstream stream = nullptr);
uint64_t CountDifferences(cuda::CUdeviceptr at, uint64_t bytes, uint64_t seed);

}  // namespace tutti::gpu
