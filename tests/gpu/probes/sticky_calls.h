// Which calls of the driver say what a kernel has done to the context, and which do not: what an executor may ask to
// learn whether its context is lost (src/executor/context.cc).
#pragma once

#include "frame/gpu.h"
#include "frame/slab.h"

namespace tutti::gpu {

class StickyCalls {
 public:
  // Makes what is asked about, in the current context, while it is sound.
  explicit StickyCalls(cuda::CUdevice device);
  // Asks, after a fault in that context, and writes a record. Calls may hang.
  void Ask();

 private:
  cuda::CUstream idle_ = nullptr;
  cuda::CUevent unrecorded_ = nullptr, reached_ = nullptr;
  cuda::CUdeviceptr memory_ = 0, addresses_ = 0;
  cuda::CUmodule module_ = nullptr;
};

}  // namespace tutti::gpu
