// Graphs: work that is described once and run many times. A graph is nodes and what comes before what; it does nothing
// until it is made executable (client/graph/graph_exec.h).
//
// As with the API's own graphs, nobody may change one while another thread uses it; the handles are checked all the
// same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/graph/graph_work.h"
#include "client/graph/user_object.h"
#include "cuda/types.h"

namespace tutti::client {

class Graph;

class GraphNode {
 public:
  GraphNode(Graph& graph, NodeWork work) : graph_(graph), work_(std::move(work)) {}

  static GraphNode* Find(const void* handle) { return pool_.Find(handle); }

  cuda::CUgraphNode handle() { return reinterpret_cast<cuda::CUgraphNode>(this); }
  Graph& graph() const { return graph_; }
  int type() const { return static_cast<int>(work_.index()); }
  const NodeWork& work() const { return work_; }
  // Null if it is of another kind.
  template <typename Kind>
  Kind* As() {
    return std::get_if<Kind>(&work_);
  }
  // Does this from now on, which is of the same kind; a child graph is copied.
  void Become(const NodeWork& work);
  // Nodes that it comes after, and that come after it; in the order in which that was said.
  const std::vector<GraphNode*>& before() const { return before_; }
  const std::vector<GraphNode*>& after() const { return after_; }
  // Of a clone: the node it was made from, which may be gone.
  const GraphNode* origin() const { return origin_; }

 private:
  friend class Graph;
  static constinit Pool<GraphNode, 1 << 20> pool_;

  Graph& graph_;
  NodeWork work_;
  std::vector<GraphNode*> before_, after_;
  const GraphNode* origin_ = nullptr;
};

class Graph {
 public:
  // `owned`: by a node or an executable graph, so not for the program to destroy.
  explicit Graph(bool owned) : owned_(owned) {}
  ~Graph();

  static Graph* Find(const void* handle) { return pool_.Find(handle); }
  static Graph* Create(bool owned = false) { return pool_.Create(owned); }
  static void Destroy(Graph* graph);

  cuda::CUgraph handle() { return reinterpret_cast<cuda::CUgraph>(this); }
  bool owned() const { return owned_; }
  const std::vector<GraphNode*>& nodes() const { return nodes_; }
  UserObjects& user_objects() { return user_objects_; }

  // A node after those given. INVALID_VALUE if one of them is of another graph or named twice.
  Answer<GraphNode*> Add(std::span<GraphNode* const> before, NodeWork work);
  // `to` comes after `from`. INVALID_VALUE for nodes of other graphs, what is there already, or is not there.
  int Connect(GraphNode* from, GraphNode* to);
  int Disconnect(GraphNode* from, GraphNode* to);
  void Remove(GraphNode* node);

  // The same nodes, knowing where they come from. Null if there are too many.
  Graph* Clone(bool owned) const;
  // Each node after those that come before it, otherwise in the order of their making. INVALID_VALUE for a circle.
  Answer<std::vector<GraphNode*>> Ordered() const;
  // The same, sorted once and kept until the graph changes. For one thread at a time.
  Answer<std::span<GraphNode* const>> KeptOrder();

 private:
  static constinit Pool<Graph, 1 << 17> pool_;

  const bool owned_;
  std::vector<GraphNode*> nodes_;
  std::vector<GraphNode*> order_;  // empty: not sorted since it changed
  UserObjects user_objects_;
};

}  // namespace tutti::client
