// What `tutti plan` is asked about: pods, read from the manifests they are deployed with, and the types of nodes there
// are.
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
  // From the annotations tutti.dev/memory and tutti.dev/threads: what it will really use of a device.
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
  double price = 0;         // an hour; 0: not known
};

// Manifests of kinds Pod, Deployment, StatefulSet, ReplicaSet, Job and List, in one text; other kinds are skipped. Of a
// pod only what scheduling looks at is read, since the rest is the API server's to check.
Result<std::vector<PodDemand>> ReadPods(std::string_view text, const std::string& name);

// {nodeTypes: [{name, gpu, gpus, gpuMemory, computeCapability, cpu, memory, price}]}
Result<std::vector<NodeType>> ReadNodeTypes(std::string_view text, const std::string& name);

}  // namespace tutti::sharing
