// An executable graph: a copy of the graph, and a plan that assigns its nodes to streams.
//
// A launch submits the nodes to the streams one by one. The first lane of the plan is the launch's stream. The others
// are streams of the graph's own, created on demand; they start after the work in the launch's stream, which waits for
// them at the end. A child graph runs in the lane of its node. A graph with conditional nodes runs in streams of its
// own alone, since nothing may come between the records of such a node (client/graph/conditional.h). Launches of one
// executable graph are ordered one after the other, whatever streams they are in.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "client/context/stream.h"
#include "client/graph/graph.h"
#include "client/graph/graph_plan.h"
#include "client/session/attachment.h"

namespace tutti::client {

// Launch is thread-safe; as the API demands, the caller serialises changes.
class GraphExec {
 public:
  GraphExec(Graph* copy, GraphPlan plan, uint64_t flags, Graph::Instance instance);
  ~GraphExec();

  static GraphExec* Find(const void* handle) { return pool_.Find(handle); }
  // INVALID_VALUE if the dependencies form a cycle, if the graph may have one executable graph only and has it, or if
  // it has a condition that no node uses. Errors of CheckBodies, and for the device of CheckDeviceGraph.
  static Answer<GraphExec*> Create(Graph& graph, uint64_t flags);
  static void Destroy(GraphExec* exec);

  cuda::CUgraphExec handle() { return reinterpret_cast<cuda::CUgraphExec>(this); }
  uint64_t flags() const { return flags_; }
  int Launch(Stream& stream);
  // Whether kernels may launch it: then the server has it (client/graph/device_graph.h) from its making on, and runs it
  // as a whole. It has nodes of other graphs, too, that kernels change. Upload tells it what has changed; `context`: a
  // live one.
  bool for_device() const { return (flags_ & cuda::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0; }
  int Upload(Context& context);
  bool has_memory_nodes() const { return copy_->has_memory_nodes(); }
  bool is_single() const { return instance_ != nullptr; }
  // A copy of its graph for a node to own. Null if there are too many.
  Graph* Copy() const { return copy_->Clone(true); }

  // Its copy of a node of the graph it was instantiated from, or last updated from, and of nodes in bodies. Null for
  // other nodes.
  GraphNode* Own(const GraphNode* node) const;
  bool Enabled(const GraphNode* own) const { return !disabled_.contains(own); }
  void Enable(const GraphNode* own, bool enabled);
  // The work of one of its nodes is another now.
  void Changed() { changed_ = true; }

  // Updates the nodes' work from `graph`, which must have the structure of the original graph. A failure names the node
  // that differs.
  struct Difference {
    int result = 0;  // CUgraphExecUpdateResult
    GraphNode* node = nullptr;
  };
  Difference Update(Graph& graph);

 private:
  // A stream of the graph's own. It ends with its context, after which its slot may belong to another stream.
  struct Lane {
    Stream* stream = nullptr;
    uint64_t id = 0;

    Stream* Find() const {
      Stream* const found = Stream::Find(stream);
      return found != nullptr && found->id() == id ? found : nullptr;
    }
  };
  Stream* LaneOf(uint32_t number, Stream& stream, uint32_t weight);
  int EnterLanes(Stream& stream, uint32_t weight, std::vector<Stream*>* lanes);
  void SetConditions(std::span<Stream* const> lanes) const;
  void Map(const Graph& copy);
  void MapBodies(const GraphNode& own);
  static Difference Compare(const Graph& own, const Graph& other);
  void FindMemory();
  int RunSteps(std::span<Stream* const> lanes, uint32_t environment) const;
  int LaunchByServer(Stream& stream);
  void Drop();
  int UploadLocked(Context& context);
  int Send(Context& context, uint64_t number, std::span<const uint8_t> description, uint32_t flags);
  uint32_t LaunchWeight() const;
  StreamMark RoomAfter(Stream& stream, uint32_t weight) const;

  static constinit Pool<GraphExec, 1 << 16> pool_;

  Graph* const copy_;
  const GraphPlan plan_;
  const uint64_t flags_;
  std::map<const GraphNode*, GraphNode*> own_;
  const bool all_lanes_own_;  // it has conditional nodes
  Graph::Instance instance_;  // null unless it is the only one of its graph
  GraphAllocation::Turn memory_;
  std::set<const GraphNode*> disabled_;
  std::mutex launch_mutex_;  // guards the rest
  std::vector<Lane> lanes_;  // from the second lane on; if all are its own, from the first
  StreamMark last_launch_;
  bool may_launch_graphs_ = false;  // its kernels
  const bool has_updatable_nodes_;  // at any depth
  bool changed_ = true;  // since the last upload
  const Attachment* uploaded_to_ = nullptr;
  const Device* device_ = nullptr;  // that it was uploaded for
};

}  // namespace tutti::client
