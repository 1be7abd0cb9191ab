// Assigns a graph's nodes to streams, so that branches overlap.
//
// A lane is a stream. A node joins the lane of a dependency that is the last node there; otherwise it begins a branch,
// in a lane of its own while there are any. It waits for its dependencies in other lanes. So a chain is one lane and
// costs nothing extra, and a fork and its join cost a wait each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::client {

class GraphNode;

struct GraphPlan {
  static constexpr uint32_t kMostLanes = 8;

  struct Step {
    GraphNode* node = nullptr;
    uint32_t lane = 0;
    std::vector<uint32_t> after;  // steps of other lanes, which come earlier in the plan
  };
  std::vector<Step> steps;
  uint32_t lanes = 0;
};

// `order`: all nodes in topological order.
GraphPlan MakePlan(std::span<GraphNode* const> order);

}  // namespace tutti::client
