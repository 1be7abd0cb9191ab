// A record of a stream, or what a kernel has launched, and what the CPU device runs for it. Guarded by the Space's
// lock, except the task while the scheduler has it.
#pragma once

#include <memory>

#include "device/common/stream_order/operation.h"
#include "device/cpu/children/child_order.h"
#include "device/cpu/children/device_graph.h"
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
  bool begins_family = false;  // of a graph's record: when its own task has run
  bool ran = false;  // of what has no blocks of its own: something in its family had
  bool counted = false;  // among what its Part has pending
  ChildShape shape;  // of a child that is a grid
  HostHold hold;  // of a child's memory
  // Of a child that is a grid, whoever its parent is by then: where its kernel is, and whose kernel has launched it.
  std::shared_ptr<const ModuleInstance> module;
  std::shared_ptr<const std::string> launcher;

  // Graphs that kernels launch (cpu_space_graphs.cc).
  enum class Role : uint8_t {
    kPlain,
    kGraphLaunch,  // a record: `graph` is to run
    kEnvironmentEnd,  // a record: what the launches of `environment` have launched is to be over
    kEnvironment,  // no work of its own: the children of one launch of a graph by the client, or their parent's
    kRun,  // of a graph: its nodes and what they launch are its children
    kNode,
  };
  Role role = Role::kPlain;
  uint32_t environment = 0;  // of a record (wire::LaunchBody)
  uint32_t node = 0;  // its number
  uint32_t forgotten = 0;  // launches from it, an environment or a run, that it does not wait for
  CpuOperation* end = nullptr;  // of the outer kEnvironment: the record that has ended it
  std::shared_ptr<const DeviceGraph> graph;
  std::unique_ptr<GraphRun> run;
  std::shared_ptr<KernelInstance> kept;  // of a node: its client may unload the module
};

}  // namespace tutti::device::cpu
