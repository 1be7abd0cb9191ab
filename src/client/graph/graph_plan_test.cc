#include "client/graph/graph_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "client/graph/graph.h"

namespace tutti::client {
namespace {

class GraphPlanTest : public testing::Test {
 protected:
  ~GraphPlanTest() override { Graph::Destroy(graph_); }
  GraphNode* Node(std::vector<GraphNode*> before) { return *graph_->Add(before, EmptyWork{}); }
  GraphPlan Plan() { return MakePlan(*graph_->Ordered()); }

  Graph* const graph_ = Graph::Create();
};

TEST_F(GraphPlanTest, AChainIsOneLaneAndWaitsForNothing) {
  GraphNode* last = Node({});
  for (int i = 0; i < 10; ++i) last = Node({last});
  const GraphPlan plan = Plan();
  EXPECT_EQ(plan.lanes, 1u);
  for (const auto& step : plan.steps) EXPECT_TRUE(step.after.empty());
}

TEST_F(GraphPlanTest, BranchesHaveLanesOfTheirOwnAndTheirJoinWaitsForAll) {
  GraphNode* const root = Node({});
  GraphNode* const a = Node({root});
  GraphNode* const b = Node({root});
  GraphNode* const c = Node({root});
  Node({a, b, c});
  const GraphPlan plan = Plan();
  EXPECT_EQ(plan.lanes, 3u);
  EXPECT_EQ(plan.steps[4].after.size(), 2u);
  EXPECT_EQ(plan.steps[4].lane, plan.steps[1].lane);
}

TEST_F(GraphPlanTest, RootsDoNotWaitForEachOther) {
  Node({});
  Node({});
  const GraphPlan plan = Plan();
  EXPECT_EQ(plan.lanes, 2u);
  EXPECT_NE(plan.steps[0].lane, plan.steps[1].lane);
}

TEST_F(GraphPlanTest, AWideGraphHasAsManyLanesAsThereMayBe) {
  for (int i = 0; i < 100; ++i) Node({});
  const GraphPlan plan = Plan();
  EXPECT_EQ(plan.lanes, GraphPlan::kMostLanes);
  std::set<uint32_t> used;
  for (const auto& step : plan.steps) used.insert(step.lane);
  EXPECT_EQ(used.size(), GraphPlan::kMostLanes);
}

// Along lanes and waits, every node comes after all it must come after.
TEST_F(GraphPlanTest, EveryEdgeIsKept) {
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < 200; ++i) {
    std::vector<GraphNode*> before;
    for (size_t j = 0; j < i; ++j) {
      if ((i * 7 + j * 13) % 29 == 0) before.push_back(nodes[j]);
    }
    nodes.push_back(Node(before));
  }
  const GraphPlan plan = Plan();
  std::vector<std::set<const GraphNode*>> reached(plan.steps.size());
  std::vector<std::set<const GraphNode*>> lanes(plan.lanes);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& step = plan.steps[i];
    auto& lane = lanes[step.lane];
    for (const uint32_t earlier : step.after) lane.insert(reached[earlier].begin(), reached[earlier].end());
    for (const GraphNode* const earlier : step.node->before()) EXPECT_TRUE(lane.contains(earlier));
    lane.insert(step.node);
    reached[i] = lane;
  }
}

}  // namespace
}  // namespace tutti::client
