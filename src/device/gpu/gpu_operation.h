// A record of a stream, and what an executor is given for it. Guarded by the Space's lock.
#pragma once

#include "device/common/stream_order/operation.h"
#include "executor/protocol/dispatch.h"

namespace tutti::device::gpu {

struct GpuOperation final : Operation {
  static Operation* Make() { return new GpuOperation; }

  enum class Work : uint8_t { kNothing, kLaunch, kCopy, kFill };
  Work work = Work::kNothing;
  uint8_t ends = 0;  // of executors, that it was under way at
  bool computes = false;  // takes SMs: kernels, fills, copies within the device
  executor::LaunchDispatch launch;  // with `arguments`
  executor::CopyDispatch copy;
  executor::FillDispatch fill;
};

inline bool Computes(const Operation& operation) {
  return operation.kind == Operation::Kind::kTask && static_cast<const GpuOperation&>(operation).computes;
}

inline bool IsKernel(const Operation& operation) {
  return operation.kind == Operation::Kind::kTask &&
         static_cast<const GpuOperation&>(operation).work == GpuOperation::Work::kLaunch;
}

}  // namespace tutti::device::gpu
