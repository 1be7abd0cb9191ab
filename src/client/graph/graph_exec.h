// A graph made executable: a copy of its own, and a plan of the streams in which its nodes run.
//
// A launch asks the streams for each node in turn. The first lane of the plan is the stream that the graph is launched
// into; the others are streams of the graph's own, made when they are first needed, which begin after what is in that
// stream and are waited for at the end. A child graph runs in the lane of its node. Launches of one executable graph
// follow one another, whatever streams they are in.
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

namespace tutti::client {

// Launch is thread-safe; changes are the caller's to keep apart, as the API says.
class GraphExec {
 public:
  GraphExec(Graph* copy, GraphPlan plan, uint64_t flags);
  ~GraphExec();

  static GraphExec* Find(const void* handle) { return pool_.Find(handle); }
  // INVALID_VALUE if the nodes wait for each other in a circle.
  static Answer<GraphExec*> Create(const Graph& graph, uint64_t flags);
  static void Destroy(GraphExec* exec);

  cuda::CUgraphExec handle() { return reinterpret_cast<cuda::CUgraphExec>(this); }
  uint64_t flags() const { return flags_; }
  int Launch(Stream& stream);
  // What it runs, as a graph for a node to own. Null if there are too many.
  Graph* Copy() const { return copy_->Clone(true); }

  // The copy of a node of the graph that this was made from, or updated from last. Null if it is none.
  GraphNode* Own(const GraphNode* node) const;
  bool Enabled(const GraphNode* own) const { return !disabled_.contains(own); }
  void Enable(const GraphNode* own, bool enabled);

  // Takes over what the nodes of `graph` do; their order must be that of the graph this was made from. On failure the
  // node that differs is named.
  struct Difference {
    int result = 0;  // CUgraphExecUpdateResult
    GraphNode* node = nullptr;
  };
  Difference Update(const Graph& graph);

 private:
  // A stream of the graph's own. It ends with its context, and another may have its place by then.
  struct Lane {
    Stream* stream = nullptr;
    uint64_t id = 0;

    Stream* Find() const {
      Stream* const found = Stream::Find(stream);
      return found != nullptr && found->id() == id ? found : nullptr;
    }
  };
  Stream& LaneOf(uint32_t number, Stream& stream, uint32_t weight);
  int RunSteps(std::span<Stream* const> lanes) const;
  uint32_t LaunchWeight() const;
  StreamMark RoomAfter(Stream& stream, uint32_t weight) const;

  static constinit Pool<GraphExec, 1 << 16> pool_;

  Graph* const copy_;
  const GraphPlan plan_;
  const uint64_t flags_;
  std::map<const GraphNode*, GraphNode*> own_;
  std::set<const GraphNode*> disabled_;
  std::mutex launch_mutex_;  // of the rest
  std::vector<Lane> lanes_;  // from the second
  StreamMark last_launch_;
};

}  // namespace tutti::client
