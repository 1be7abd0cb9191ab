// Computes how many nodes of a type a set of pods needs if GPUs are shared according to a node template, where each pod
// goes, and what remains unused.
//
// First-fit decreasing: what a cluster's scheduler arrives at when it fills nodes one by one, and at most about 11/9 of
// the optimum. A GPU has as many places as the template allows clients (Cast AI: capacity of a node is GPU_COUNT *
// SHARED_CLIENTS_PER_GPU).
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
  std::vector<std::string> pods;  // a pod that asks for several places is listed as often
};

struct PackedNode {
  std::vector<PackedGpu> gpus;
};

struct Packing {
  NodeType type;
  int64_t clients_per_gpu = 1;
  std::vector<PackedNode> nodes;
  double price = 0;  // of all nodes, per hour
  // Unused capacity over all GPUs of all nodes. A pod without a stated use counts with its whole share.
  double wasted_memory_bytes = 0;
  double wasted_compute_gpus = 0;  // in GPUs
  int64_t free_places = 0;
};

// Fails if a pod cannot run on such a node; the error has the pod, the reason and the remedy.
Result<Packing> Pack(const NodeTemplate& node_template, const NodeType& type, std::span<const PodDemand> pods);

struct Plan {
  std::vector<Packing> packings;  // cheapest type first; fewest nodes first without prices
  std::vector<std::string> refused;  // why the other types do not fit, a line each
};

// For all types that can run the pods. Fails with the first reason if none can.
Result<Plan> PackAll(const NodeTemplate& node_template, std::span<const NodeType> types,
                     std::span<const PodDemand> pods);

}  // namespace tutti::sharing
