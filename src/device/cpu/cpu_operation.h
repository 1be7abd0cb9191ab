// A record of a stream, or what a kernel has launched, and what the CPU device runs for it. Guarded by the Space's
// lock, except the task while the scheduler has it.
#pragma once

#include <memory>

#include "device/common/stream_order/operation.h"
#include "device/cpu/children/child_order.h"
#include "device/cpu/children/parameter_buffers.h"
#include "device/cpu/kernel_instance.h"
#include "device/cpu/schedule/task.h"

namespace tutti::device::cpu {

struct CpuOperation final : Operation {
  static Operation* Make() { return new CpuOperation; }

  Task task;  // kTask, kConditional
  KernelInstance* kernel = nullptr;  // of a launch; lives as long as work submitted before its module's unloading

  // A grid's family (cpu_space_children.cc).
  CpuOperation* parent = nullptr;  // whose kernel has launched it; null: a record of the client's
  ChildStream* child_stream = nullptr;  // in the parent's order
  std::unique_ptr<ChildOrder> children;  // once it has launched something
  uint32_t open_buffers = 0;  // for parameters of launches that have not come
  uint32_t depth = 0;  // launches between it and the client's record
  bool blocks_over = false;  // but its children may not be
  ChildShape shape;  // of a child that is a grid
  HostHold hold;  // of a child's memory
};

}  // namespace tutti::device::cpu
