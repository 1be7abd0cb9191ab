// How the nodes of a graph are spread over streams, so that branches overlap.
//
// A lane is a stream. A node follows one that it comes after where that is the last of its lane; otherwise a branch
// begins, with a lane of its own while there are any. What a node comes after in other lanes it waits for. So a chain
// is one lane and costs nothing, and a fork and its join cost a wait each.
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

// `order`: all nodes, each after those that come before it.
GraphPlan MakePlan(std::span<GraphNode* const> order);

}  // namespace tutti::client
