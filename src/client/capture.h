// Stream capture: between begin and end, what a stream is asked for is not done but becomes a graph.
//
// A capture begins in one stream and spreads with events: a stream that waits for an event recorded in a capturing
// stream joins it, and must be joined back before the end. For each stream the capture knows the nodes that its next
// one comes after. A call that cannot be captured breaks the capture: it is invalid until it is ended.
//
// One lock for all captures: they are short and rare. Streams that capture nothing pay one load.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <thread>
#include <vector>

#include "client/answer.h"
#include "client/event.h"
#include "client/graph.h"
#include "client/stream.h"

namespace tutti::client {

// Thread-safe.
class Capture {
 public:
  // Into `graph`, after `before`; into a new graph if it is null.
  static int Begin(Stream& stream, int mode, Graph* graph = nullptr, std::span<GraphNode* const> before = {});
  // The graph, or an error with which the capture ends all the same.
  static Answer<Graph*> End(Stream& stream);
  // A stream that ends takes no further part.
  static void Forget(Stream& stream);

  // The next node of a capturing stream. The rest of this class' functions on streams expect one, too.
  static int Add(Stream& stream, NodeWork work);
  // What no capture may contain: breaks it, returns STREAM_CAPTURE_UNSUPPORTED.
  static int Break(Stream& stream, const char* what);
  static int Record(Stream& stream, Event& event);
  // Any stream: 0 and `*done` if the event or the stream is of a capture.
  static int Wait(Stream& stream, Event& event, bool* done);
  // Whether the event was recorded in a capture that still goes on.
  static bool Has(const Event& event);

  struct State {
    int status = cuda::CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    Graph* graph = nullptr;
    const std::vector<GraphNode*>* last = nullptr;  // valid until the stream's next call
  };
  static State Of(Stream& stream);
  // What the stream's next node comes after: besides what it is, or instead.
  static int SetLast(Stream& stream, std::span<GraphNode* const> nodes, bool instead);

 private:
  Capture(Stream& origin, int mode, Graph* graph, bool own_graph);
  int End();
  bool Joined() const;
  void Release();

  const uint64_t id_;
  Stream& origin_;
  const int mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Graph* const graph_;
  const bool own_graph_;
  bool broken_ = false;
  std::map<Stream*, std::vector<GraphNode*>> last_;
};

}  // namespace tutti::client
