// A graph that kernels launch, as its client has uploaded it, and one run of it. Guarded by the Space's lock, but for
// what is constant.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/host_share.h"
#include "wire/graph_description.h"

namespace tutti::device::cpu {

struct CpuOperation;

// What kernels may change of a node (cudaGraphKernelNodeSetParam and so on): it runs as this is when its turn comes.
struct UpdatableNode {
  uint32_t device = 0;
  uint32_t grid[3] = {};
  bool enabled = true;
  std::vector<uint8_t> arguments;
};

// Constant once it is made. Runs keep it.
struct DeviceGraph {
  // What kernels have of it, whichever upload of it they have launched.
  struct Launches {
    bool pending = false;  // one is to run, or runs
    bool again = false;  // ... which has launched itself, behind itself
  };

  struct Node {
    wire::GraphNode work;
    std::vector<uint32_t> after;  // nodes that wait for it
    std::shared_ptr<UpdatableNode> updatable;  // null: kernels do not change it
  };

  uint64_t number = 0;  // its client's
  uint32_t device = 0;
  bool is_node = false;  // wire::kGraphIsNode
  std::vector<Node> nodes;
  std::shared_ptr<Launches> launches;
  HostHold hold;
};

struct GraphRun {
  // CUDA C++ programming guide, device graph launch.
  static constexpr uint32_t kMostForgotten = 120;  // in the whole run
  static constexpr size_t kMostAtTail = 255;  // that wait

  std::shared_ptr<const DeviceGraph> graph;
  bool by_kernel = false;
  std::vector<uint32_t> waits_for;  // by node: how many others
  std::vector<std::unique_ptr<CpuOperation>> nodes;  // that have not begun; a joint is null
};

}  // namespace tutti::device::cpu
