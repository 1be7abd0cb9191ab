// Stream capture: between begin and end, what a stream is asked for is not done but becomes a graph.
//
// A capture begins in one stream and spreads with events: a stream that waits for an event recorded in a capturing
// stream joins it, and must be joined back before the end. For each stream the capture knows the nodes that its next
// one comes after. A call that cannot be captured breaks the capture: it is invalid until it is ended.
//
// Calls that may wait for work that is only being captured (allocating, freeing, loading modules, asking or waiting for
// events) are refused as the mode of the capture says, and break it. To wait for a whole context with a captured stream
// is refused in every mode. One lock for all captures: they are short and rare. Streams that capture nothing pay one
// load.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <thread>
#include <vector>

#include "client/base/answer.h"
#include "client/context/event.h"
#include "client/context/stream.h"
#include "client/graph/graph.h"

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
  // 0, or STREAM_CAPTURE_UNSUPPORTED: a capture forbids this thread a call that is not safe beside it, and is broken.
  static int CheckUnsafe(const char* what) {
    return forbidding_.load(std::memory_order_relaxed) == 0 ? 0 : BreakForbidding(what);
  }
  // 0, or STREAM_CAPTURE_UNSUPPORTED: the call would wait for all streams of the context, and captures of some of them
  // go on, which are broken.
  static int CheckWaitForAll(const Context& context, const char* what) {
    return going_on_.load(std::memory_order_relaxed) == 0 ? 0 : BreakOf(context, what);
  }
  // Breaks the captures of the context's streams that synchronise with its legacy stream; STREAM_CAPTURE_IMPLICIT.
  static int BreakBlocking(const Context& context);
  // How the calling thread is bound by captures from now on (cuThreadExchangeStreamCaptureMode); returns how it was.
  static int ExchangeMode(int mode);
  // Any stream: 0 and `*done` if the event or the stream is of a capture.
  static int Wait(Stream& stream, Event& event, bool* done);
  // Whether the event was recorded in a capture that still goes on.
  static bool Has(const Event& event);

  struct State {
    int status = cuda::CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    Graph* graph = nullptr;
    std::span<GraphNode* const> last = {};  // valid until it is asked for again or the capture ends
  };
  static State Of(Stream& stream);
  // What the stream's next node comes after: besides what it is, or instead.
  static int SetLast(Stream& stream, std::span<GraphNode* const> nodes, bool instead);

 private:
  Capture(Stream& origin, int mode, Graph* graph, bool own_graph);
  static int BreakForbidding(const char* what);
  static int BreakOf(const Context& context, const char* what);
  void Enlist(Stream& stream);
  void Dismiss(Stream& stream);
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
  std::map<Stream*, std::vector<GraphNode*>> told_;  // the last list that Of gave out

  static constinit std::atomic<uint32_t> going_on_;  // captures
  static constinit std::atomic<uint32_t> forbidding_;  // those of them that are not relaxed
};

}  // namespace tutti::client
