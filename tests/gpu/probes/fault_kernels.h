// Kernels that fail, each in its own way and its own module: some drivers may not even take some.
#pragma once

#include <span>
#include <string_view>

#include "frame/gpu.h"

namespace tutti::gpu {

struct FaultKernel {
  std::string_view name;
  const char* ptx;     // entry "culprit", which takes an address
  bool near = false;   // the address is right behind mapped memory; else it is far from all
};

std::span<const FaultKernel> FaultKernels();
const FaultKernel& FaultKernelOf(std::string_view name);

// Loads it and chooses an address.
class Culprit {
 public:
  Culprit(cuda::CUdevice device, std::string_view name);
  void Launch(cuda::CUstream stream);

 private:
  cuda::CUfunction function_;
  cuda::CUdeviceptr at_ = 0;
};

// Waits until the stream has an error or is done; the result, and the milliseconds since the call.
struct FirstError {
  int result = 0;
  double ms = 0;
};
FirstError AwaitError(cuda::CUstream stream, double limit_seconds);

}  // namespace tutti::gpu
