// Stream capture: between begin and end, calls on a stream are not executed but recorded as a graph.
//
// A capture begins in one stream and spreads with events: a stream that waits for an event recorded in a capturing
// stream joins it, and must be joined back before the end. For each stream the capture keeps the nodes that its next
// node depends on. A call that cannot be captured invalidates the capture until it is ended.
//
// Unsafe calls, which might wait for work that is only being captured (allocating, freeing, loading modules, querying
// or waiting for events), are refused according to the capture's mode, and invalidate it. Waiting for a whole context
// that contains a captured stream is refused in every mode. One lock serves all captures, which are short and rare.
// Streams that capture nothing pay one load.
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
  // The graph, or an error; the capture ends either way.
  static Answer<Graph*> End(Stream& stream);
  // Removes a destroyed stream from the capture.
  static void Forget(Stream& stream);

  // The next node of a capturing stream. This class's other functions on streams expect a capturing one, too.
  static int Add(Stream& stream, NodeWork work);
  // For calls that cannot be captured: invalidates the capture and returns STREAM_CAPTURE_UNSUPPORTED.
  static int Break(Stream& stream, const char* what);
  static int Record(Stream& stream, Event& event);
  // 0, or STREAM_CAPTURE_UNSUPPORTED if a capture forbids this thread an unsafe call; invalidates that capture.
  static int CheckUnsafe(const char* what) {
    return forbidding_.load(std::memory_order_relaxed) == 0 ? 0 : BreakForbidding(what);
  }
  // 0, or STREAM_CAPTURE_UNSUPPORTED if the call would wait for all streams of the context while some are captured;
  // invalidates those captures.
  static int CheckWaitForAll(const Context& context, const char* what) {
    return going_on_.load(std::memory_order_relaxed) == 0 ? 0 : BreakOf(context, what);
  }
  // Invalidates the captures of the context's streams that synchronise with its legacy stream. Returns
  // STREAM_CAPTURE_IMPLICIT.
  static int BreakBlocking(const Context& context);
  // Exchanges the calling thread's capture mode (cuThreadExchangeStreamCaptureMode); returns the previous one.
  static int ExchangeMode(int mode);
  // For any stream: 0, and `*done` set if the event or the stream belongs to a capture.
  static int Wait(Stream& stream, Event& event, bool* done);
  // Whether the event was recorded in a capture that has not ended.
  static bool Has(const Event& event);

  struct State {
    int status = cuda::CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    Graph* graph = nullptr;
    std::span<GraphNode* const> last = {};  // valid until the next query or the capture's end
  };
  static State Of(Stream& stream);
  // Adds to, or replaces, the dependencies of the stream's next node.
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
  std::map<Stream*, std::vector<GraphNode*>> told_;  // the last list that Of returned

  static constinit std::atomic<uint32_t> going_on_;  // captures
  static constinit std::atomic<uint32_t> forbidding_;  // of these, the ones that are not relaxed
};

}  // namespace tutti::client
