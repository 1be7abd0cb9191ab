// The input of `tutti plan`: pods, read from their manifests, and the available node types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::sharing {

struct PodDemand {
  std::string name;
  int64_t count = 1;     // replicas of a Deployment and the like
  int64_t gpus = 0;      // nvidia.com/gpu of all containers
  double cpus = 0;
  double memory_bytes = 0;
  // From the annotations tutti.dev/memory and tutti.dev/threads: its real use of a device.
  std::optional<uint64_t> gpu_memory_bytes;
  std::optional<double> gpu_percentage;
  bool host_ipc = false;
  std::vector<std::string> tolerated_keys;  // "*": everything
  std::string node_template;                // of its node selector; empty: any
};

struct NodeType {
  std::string name;
  std::string gpu;  // its name, as in the node template
  int64_t gpus = 1;
  uint64_t gpu_memory_bytes = 0;
  double compute_capability = 8.0;
  double cpus = 0;          // 0: not limited
  double memory_bytes = 0;  // 0: not limited
  double price = 0;         // per hour; 0: unknown
};

// Manifests of kinds Pod, Deployment, StatefulSet, ReplicaSet, Job and List, in one text; other kinds are skipped.
// Reads only the fields of a pod that scheduling uses; the API server checks the others.
Result<std::vector<PodDemand>> ReadPods(std::string_view text, const std::string& name);

// {nodeTypes: [{name, gpu, gpus, gpuMemory, computeCapability, cpu, memory, price}]}
Result<std::vector<NodeType>> ReadNodeTypes(std::string_view text, const std::string& name);

}  // namespace tutti::sharing
