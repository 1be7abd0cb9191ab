#include "client/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "client/base/complaint.h"

namespace tutti::client {
namespace {

constinit std::atomic<uint64_t> next_id{1};

bool Contains(const std::vector<GraphNode*>& list, const GraphNode* node) {
  return std::ranges::find(list, node) != list.end();
}

void DropGraphs(NodeWork& work) {
  ForEachGraph(work, [](Graph*& owned) {
    if (owned != nullptr) Graph::Destroy(owned);
    owned = nullptr;
  });
}

// Copies the graphs that a node of `graph` with this work is to own. False, and it owns none, if there are too many.
bool CopyGraphs(NodeWork& work, Graph& graph) {
  bool complete = true;
  Graph* const around = std::holds_alternative<ConditionalWork>(work) ? &graph : nullptr;
  ForEachGraph(work, [&](Graph*& owned) {
    owned = complete ? owned->Clone(true, around) : nullptr;
    complete = complete && owned != nullptr;
  });
  if (!complete) DropGraphs(work);
  return complete;
}

}  // namespace

constinit Pool<GraphNode, 1 << 20> GraphNode::pool_;
constinit Pool<Graph, 1 << 17> Graph::pool_;

bool GraphNode::Become(const NodeWork& work) {
  NodeWork copy = work;
  const auto* const before = As<KernelWork>();
  auto* const after = std::get_if<KernelWork>(&copy);
  if (before != nullptr && after != nullptr) after->device_node = before->device_node;
  if (!CopyGraphs(copy, graph_)) return false;
  std::swap(work_, copy);
  DropGraphs(copy);
  return true;
}

Graph::Graph(bool owned, Graph* around)
    : owned_(owned), around_(around), id_(next_id.fetch_add(1, std::memory_order_relaxed)) {}

Graph::~Graph() {
  while (!nodes_.empty()) Remove(nodes_.back());
}

void Graph::Destroy(Graph* graph) {
  if (pool_.Retire(graph)) pool_.Delete(graph);
}

Answer<GraphNode*> Graph::Add(std::span<GraphNode* const> before, NodeWork work) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (&before[i]->graph_ != this || std::ranges::find(before.first(i), before[i]) != before.begin() + i)
      return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  }
  GraphNode* const node = GraphNode::pool_.Create(*this, std::move(work));
  if (node == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  nodes_.push_back(node);
  order_.clear();
  if (node->As<AllocateWork>() != nullptr || node->As<FreeWork>() != nullptr) has_memory_nodes_ = true;
  for (GraphNode* const earlier : before) Connect(earlier, node);
  return node;
}

int Graph::Connect(GraphNode* from, GraphNode* to) {
  if (&from->graph_ != this || &to->graph_ != this || from == to || Contains(from->after_, to))
    return cuda::CUDA_ERROR_INVALID_VALUE;
  order_.clear();
  from->after_.push_back(to);
  to->before_.push_back(from);
  return cuda::CUDA_SUCCESS;
}

int Graph::Disconnect(GraphNode* from, GraphNode* to) {
  if (!Contains(from->after_, to)) return cuda::CUDA_ERROR_INVALID_VALUE;
  order_.clear();
  std::erase(from->after_, to);
  std::erase(to->before_, from);
  return cuda::CUDA_SUCCESS;
}

void Graph::Remove(GraphNode* node) {
  if (!GraphNode::pool_.Retire(node)) return;
  for (GraphNode* const earlier : node->before_) std::erase(earlier->after_, node);
  for (GraphNode* const later : node->after_) std::erase(later->before_, node);
  std::erase(nodes_, node);
  order_.clear();
  DropGraphs(node->work_);
  GraphNode::pool_.Delete(node);
}

bool Graph::has_conditionals() const {
  return std::ranges::any_of(nodes_, [](GraphNode* node) { return node->As<ConditionalWork>() != nullptr; });
}

bool Graph::has_updatable_nodes() const {
  return std::ranges::any_of(nodes_, [](GraphNode* node) {
    const auto* const kernel = node->As<KernelWork>();
    return kernel != nullptr && kernel->device_node != 0;
  });
}

bool Graph::has_unused_condition() const {
  const bool own = std::ranges::any_of(conditions_, [](const auto& condition) { return !condition->used(); });
  return own || std::ranges::any_of(nodes_, [](GraphNode* node) {
           const auto* const conditional = node->As<ConditionalWork>();
           return conditional != nullptr &&
                  std::ranges::any_of(conditional->bodies, [](Graph* body) { return body->has_unused_condition(); });
         });
}

Graph* Graph::Clone(bool owned, Graph* around) const {
  Graph* const clone = Create(owned, around);
  if (clone == nullptr) return nullptr;
  std::unordered_map<const GraphNode*, GraphNode*> made;
  for (const GraphNode* const node : nodes_) {
    NodeWork work = node->work_;
    const auto copy =
        CopyGraphs(work, *clone) ? clone->Add({}, std::move(work)) : Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
    if (!copy) {
      Destroy(clone);
      return nullptr;
    }
    (*copy)->origin_ = node;
    made.emplace(node, *copy);
  }
  for (const GraphNode* const node : nodes_) {
    for (const GraphNode* const later : node->after_) clone->Connect(made.at(node), made.at(later));
  }
  clone->user_objects_ = user_objects_;
  return clone;
}

Answer<Graph::Instance> Graph::TakeInstance() {
  if (!instance_.expired()) {
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                           "a graph with conditional nodes, or with nodes that allocate or free memory or that "
                           "kernels change, has an executable graph already: destroy it first (cuGraphExecDestroy)"));
  }
  auto instance = std::make_shared<Hold>();
  instance_ = instance;
  return instance;
}

// Looks at the nearest nodes only, so that a long graph is not read from end to end for each of its nodes.
GraphAllocation::Handle Graph::FreedBefore(std::span<GraphNode* const> before, const Device& device,
                                           uint64_t bytes) const {
  constexpr size_t kMostNodes = 1024;
  std::vector<GraphNode*> seen(before.begin(), before.end());
  std::unordered_set<const GraphNode*> reached(before.begin(), before.end());
  for (size_t i = 0; i < seen.size() && i < kMostNodes; ++i) {
    if (const FreeWork* const freed = seen[i]->As<FreeWork>()) {
      const GraphAllocation& allocation = *freed->allocation;
      if (allocation.owner() == id_ && allocation.bytes() == bytes && &allocation.device() == &device &&
          allocation.last())
        return freed->allocation;
    }
    for (GraphNode* const earlier : seen[i]->before()) {
      if (reached.insert(earlier).second) seen.push_back(earlier);
    }
  }
  return nullptr;
}

Answer<std::span<GraphNode* const>> Graph::KeptOrder() {
  if (order_.empty()) {
    CU_ASSIGN_OR_REFUSE(order_, Ordered());
  }
  return order_;
}

Answer<std::vector<GraphNode*>> Graph::Ordered() const {
  std::unordered_map<const GraphNode*, size_t> waiting_for;
  std::vector<GraphNode*> order;
  order.reserve(nodes_.size());
  for (GraphNode* const node : nodes_) {
    waiting_for[node] = node->before_.size();
    if (node->before_.empty()) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (GraphNode* const later : order[i]->after_) {
      if (--waiting_for[later] == 0) order.push_back(later);
    }
  }
  if (order.size() != nodes_.size()) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  return order;
}

}  // namespace tutti::client
