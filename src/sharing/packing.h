// How many nodes of a type a set of pods needs when its GPUs are shared as a node template says, where each pod goes,
// and what would be left unused.
//
// First fit, the largest first: what the scheduler of a cluster comes to when it fills nodes one by one, and never more
// than 11/9 of the best. A GPU has as many places as the template gives clients (Cast AI: capacity of a node is
// GPU_COUNT * SHARED_CLIENTS_PER_GPU).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/castai_template.h"
#include "sharing/plan_input.h"

namespace tutti::sharing {

struct PackedGpu {
  std::vector<std::string> pods;  // a pod that asks for several places is named as often
};

struct PackedNode {
  std::vector<PackedGpu> gpus;
};

struct Packing {
  NodeType type;
  int64_t clients_per_gpu = 1;
  std::vector<PackedNode> nodes;
  double price = 0;  // of all nodes, an hour
  // Of all GPUs of all nodes: what nobody will use. A pod that does not say what it uses is taken to use its whole
  // share.
  double wasted_memory_bytes = 0;
  double wasted_compute_gpus = 0;  // in GPUs
  int64_t free_places = 0;
};

// Fails if a pod cannot run on such a node, with the pod, the reason and the remedy.
Result<Packing> Pack(const NodeTemplate& node_template, const NodeType& type, std::span<const PodDemand> pods);

struct Plan {
  std::vector<Packing> packings;  // the cheapest type first; the fewest nodes where no price is known
  std::vector<std::string> refused;  // why the other types are none, a line each
};

// Of all types that can run the pods. Fails with the first reason if none can.
Result<Plan> PackAll(const NodeTemplate& node_template, std::span<const NodeType> types,
                     std::span<const PodDemand> pods);

}  // namespace tutti::sharing
