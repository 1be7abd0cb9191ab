// Graphs: work that is described once and run many times. A graph is a set of nodes and their dependencies; it runs
// after instantiation (client/graph/graph_exec.h).
//
// As the API demands, a graph must not be changed while another thread uses it; handles are checked all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/graph/condition.h"
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
  // Replaces the node's work by other work of the same kind; graphs in it are copied. False if there are too many.
  bool Become(const NodeWork& work);
  // Dependencies and dependent nodes, in the order in which they were added.
  const std::vector<GraphNode*>& before() const { return before_; }
  const std::vector<GraphNode*>& after() const { return after_; }
  // For a clone: the original node, which may be gone.
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
  // `owned`: by a node or an executable graph, so the program cannot destroy it. `around`: the graph of the conditional
  // node of which it is a body, which outlives it.
  explicit Graph(bool owned, Graph* around);
  ~Graph();

  static Graph* Find(const void* handle) { return pool_.Find(handle); }
  static Graph* Create(bool owned = false, Graph* around = nullptr) { return pool_.Create(owned, around); }
  static void Destroy(Graph* graph);

  cuda::CUgraph handle() { return reinterpret_cast<cuda::CUgraph>(this); }
  bool owned() const { return owned_; }
  Graph* around() const { return around_; }  // null if it is no body of a conditional node
  uint64_t id() const { return id_; }  // never reused
  const std::vector<GraphNode*>& nodes() const { return nodes_; }
  UserObjects& user_objects() { return user_objects_; }
  // Whether nodes of it allocate or free memory; then it may have one executable graph at a time, be no child, lose no
  // node and no dependency, and not be cloned by the program.
  bool has_memory_nodes() const { return has_memory_nodes_; }
  // Then it may have one executable graph at a time, be no child, and not be cloned by the program either.
  bool has_conditionals() const;
  bool is_single() const { return has_memory_nodes_ || has_conditionals() || has_updatable_nodes(); }
  // Whether kernels change nodes of it. The same holds.
  bool has_updatable_nodes() const;
  // Its conditions, and those of graphs in it that have been created for this one.
  void Keep(Condition::Handle condition) { conditions_.push_back(std::move(condition)); }
  // Whether it has a condition that is no node's.
  bool has_unused_condition() const;
  // What the executable graph of it has to hold. INVALID_VALUE if another one holds it.
  struct Hold {};
  using Instance = std::shared_ptr<Hold>;
  Answer<Instance> TakeInstance();
  bool Has(const Instance& instance) const { return instance_.lock() == instance; }
  // An allocation of this graph, of this size and device, that is freed before what comes after `before`, and whose
  // memory nobody has taken since. Null if none is found.
  GraphAllocation::Handle FreedBefore(std::span<GraphNode* const> before, const Device& device, uint64_t bytes) const;

  // Adds a node with these dependencies. INVALID_VALUE if one of them is of another graph or named twice.
  Answer<GraphNode*> Add(std::span<GraphNode* const> before, NodeWork work);
  // Makes `to` depend on `from`, or removes that dependency. INVALID_VALUE for nodes of other graphs, and for a
  // dependency that already exists or does not.
  int Connect(GraphNode* from, GraphNode* to);
  int Disconnect(GraphNode* from, GraphNode* to);
  void Remove(GraphNode* node);

  // A clone whose nodes know their originals. Null if there are too many.
  Graph* Clone(bool owned, Graph* around = nullptr) const;
  // A topological order, stable in the order of creation. INVALID_VALUE for a cycle.
  Answer<std::vector<GraphNode*>> Ordered() const;
  // The same, cached until the graph changes. One thread at a time.
  Answer<std::span<GraphNode* const>> KeptOrder();

 private:
  static constinit Pool<Graph, 1 << 17> pool_;

  const bool owned_;
  Graph* const around_;
  const uint64_t id_;
  std::vector<GraphNode*> nodes_;
  std::vector<GraphNode*> order_;  // empty: not sorted since the last change
  UserObjects user_objects_;
  std::vector<Condition::Handle> conditions_;
  bool has_memory_nodes_ = false;
  std::weak_ptr<Hold> instance_;
};

}  // namespace tutti::client
