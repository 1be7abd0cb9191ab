// A record of a stream, and what the CPU device runs for it. Guarded by the Space's lock, except the task while the
// scheduler has it.
#pragma once

#include "device/common/stream_order/operation.h"
#include "device/cpu/kernel_instance.h"
#include "device/cpu/schedule/task.h"

namespace tutti::device::cpu {

struct CpuOperation final : Operation {
  static Operation* Make() { return new CpuOperation; }

  Task task;                         // kTask, kConditional
  KernelInstance* kernel = nullptr;  // of a launch; lives as long as work submitted before its module's unloading
};

}  // namespace tutti::device::cpu
