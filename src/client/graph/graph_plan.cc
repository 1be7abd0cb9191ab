#include "client/graph/graph_plan.h"

#include <unordered_map>

#include "client/graph/graph.h"

namespace tutti::client {

GraphPlan MakePlan(std::span<GraphNode* const> order) {
  GraphPlan plan;
  std::unordered_map<const GraphNode*, uint32_t> step_of;
  std::vector<uint32_t> last;  // step of each lane
  const auto lane_for = [&](const GraphNode& node) {
    for (const GraphNode* const earlier : node.before()) {
      const uint32_t step = step_of.at(earlier);
      if (const uint32_t lane = plan.steps[step].lane; last[lane] == step) return lane;
    }
    if (last.size() < GraphPlan::kMostLanes) {
      last.push_back(0);
      return static_cast<uint32_t>(last.size() - 1);
    }
    return static_cast<uint32_t>(plan.steps.size() % GraphPlan::kMostLanes);
  };
  plan.steps.reserve(order.size());
  for (GraphNode* const node : order) {
    const auto number = static_cast<uint32_t>(plan.steps.size());
    GraphPlan::Step step{.node = node, .lane = lane_for(*node), .after = {}};
    for (const GraphNode* const earlier : node->before()) {
      const uint32_t before = step_of.at(earlier);
      if (plan.steps[before].lane != step.lane) step.after.push_back(before);
    }
    last[step.lane] = number;
    step_of.emplace(node, number);
    plan.steps.push_back(std::move(step));
  }
  plan.lanes = static_cast<uint32_t>(last.size());
  return plan;
}

}  // namespace tutti::client
