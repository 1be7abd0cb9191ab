#include "client/graph/capture.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "client/base/complaint.h"
#include "client/context/context.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

std::mutex& CaptureMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

uint64_t next_id = 1;  // under the lock

// Captures in progress, by number.
std::map<uint64_t, Capture*>& Active() {
  static auto* const active = new std::map<uint64_t, Capture*>;
  return *active;
}

void Join(std::vector<GraphNode*>& list, std::span<GraphNode* const> more) {
  for (GraphNode* const node : more) {
    if (std::ranges::find(list, node) == list.end()) list.push_back(node);
  }
}

// The calling thread's mode.
thread_local constinit int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

}  // namespace

constinit std::atomic<uint32_t> Capture::going_on_{0};
constinit std::atomic<uint32_t> Capture::forbidding_{0};

void Capture::Enlist(Stream& stream) {
  stream.BeginCapture(this, &Capture::Forget);
  if (stream.blocking()) stream.context().captured_streams().fetch_add(1, std::memory_order_relaxed);
}

void Capture::Dismiss(Stream& stream) {
  stream.EndCapture();
  if (stream.blocking()) stream.context().captured_streams().fetch_sub(1, std::memory_order_relaxed);
}

int Capture::BreakBlocking(const Context& context) {
  std::lock_guard lock(CaptureMutex());
  for (const auto& [id, capture] : Active()) {
    for (const auto& [stream, nodes] : capture->last_) {
      if (stream->blocking() && &stream->context() == &context) capture->broken_ = true;
    }
  }
  return Complain(
      CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
      "work in the legacy default stream while a stream that synchronises with it is being captured: capture "
      "a non-blocking stream, or work in another one");
}

// Unless its own mode is relaxed, a thread may not make unsafe calls during its own non-relaxed captures, nor, if its
// mode is global, during any thread's global capture.
int Capture::BreakForbidding(const char* what) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  std::lock_guard lock(CaptureMutex());
  bool forbidden = false;
  for (const auto& [id, capture] : Active()) {
    const bool own = capture->thread_ == std::this_thread::get_id() && capture->mode_ != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool everybodys =
        capture->mode_ == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !everybodys) continue;
    capture->broken_ = true;
    forbidden = true;
  }
  if (!forbidden) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "{} while a stream is being captured in a mode that forbids it: capture in relaxed mode, or exchange "
                  "the thread's mode around the call",
                  what);
}

int Capture::BreakOf(const Context& context, const char* what) {
  std::lock_guard lock(CaptureMutex());
  bool captured = false;
  for (const auto& [id, capture] : Active()) {
    for (const auto& [stream, nodes] : capture->last_) {
      if (&stream->context() == &context) captured = capture->broken_ = true;
    }
  }
  if (!captured) return CUDA_SUCCESS;
  return Complain(
      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      "{} while a stream of the context is being captured: it would wait for work that is only being captured", what);
}

int Capture::ExchangeMode(int mode) { return std::exchange(thread_mode, mode); }

Capture::Capture(Stream& origin, int mode, Graph* graph, bool own_graph)
    : id_(next_id++), origin_(origin), mode_(mode), graph_(graph), own_graph_(own_graph) {}

int Capture::Begin(Stream& stream, int mode, Graph* graph, std::span<GraphNode* const> before) {
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream.legacy())
    return Complain(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "the legacy default stream cannot be captured: use another one");
  std::lock_guard lock(CaptureMutex());
  if (stream.capture() != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  Graph* const into = graph != nullptr ? graph : Graph::Create();
  if (into == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* const capture = new Capture(stream, mode, into, graph == nullptr);
  capture->last_[&stream].assign(before.begin(), before.end());
  Active().emplace(capture->id_, capture);
  going_on_.fetch_add(1, std::memory_order_relaxed);
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) forbidding_.fetch_add(1, std::memory_order_relaxed);
  capture->Enlist(stream);
  return CUDA_SUCCESS;
}

Answer<Graph*> Capture::End(Stream& stream) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr) return Refuse(CUDA_ERROR_ILLEGAL_STATE);
  if (&capture->origin_ != &stream) return Refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode_ != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread_ != std::this_thread::get_id())
    return Refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const int status = capture->End();
  Graph* const graph = capture->graph_;
  if (status != 0 && capture->own_graph_) Graph::Destroy(graph);
  capture->Release();
  if (status != 0) return Refuse(status);
  return graph;
}

int Capture::End() {
  if (broken_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return Joined() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

// Whether the last nodes of every stream precede (or are) the last ones of the capture's origin stream.
bool Capture::Joined() const {
  std::vector<GraphNode*> seen = last_.at(&origin_);
  std::set<const GraphNode*> reached(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    for (GraphNode* const earlier : seen[i]->before()) {
      if (reached.insert(earlier).second) seen.push_back(earlier);
    }
  }
  return std::ranges::all_of(last_, [&](const auto& of_stream) {
    return std::ranges::all_of(of_stream.second, [&](const GraphNode* node) { return reached.contains(node); });
  });
}

void Capture::Release() {
  for (const auto& [stream, nodes] : last_) Dismiss(*stream);
  going_on_.fetch_sub(1, std::memory_order_relaxed);
  if (mode_ != CU_STREAM_CAPTURE_MODE_RELAXED) forbidding_.fetch_sub(1, std::memory_order_relaxed);
  Active().erase(id_);
  delete this;
}

void Capture::Forget(Stream& stream) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr) return;
  if (&capture->origin_ != &stream) {
    capture->broken_ = true;  // its work can no longer be joined to the origin stream
    capture->last_.erase(&stream);
    capture->Dismiss(stream);
    return;
  }
  if (capture->own_graph_) Graph::Destroy(capture->graph_);
  capture->Release();
}

int Capture::Add(Stream& stream, NodeWork work) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr || capture->broken_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto& last = capture->last_[&stream];
  CU_ASSIGN(GraphNode* const node, capture->graph_->Add(last, std::move(work)));
  last = {node};
  return CUDA_SUCCESS;
}

int Capture::Break(Stream& stream, const char* what) {
  std::lock_guard lock(CaptureMutex());
  if (Capture* const capture = stream.capture()) capture->broken_ = true;
  return Complain(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "{} while the stream is being captured", what);
}

int Capture::Record(Stream& stream, Event& event) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr || capture->broken_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.SetCaptured({capture->id_, capture->last_[&stream]});
  return CUDA_SUCCESS;
}

int Capture::Wait(Stream& stream, Event& event, bool* done) {
  const Event::Captured captured = event.captured();
  *done = false;
  if (stream.capture() == nullptr && captured.capture == 0) return CUDA_SUCCESS;
  std::lock_guard lock(CaptureMutex());
  Capture* const own = stream.capture();
  const bool capturing = captured.capture != 0 && Active().contains(captured.capture);
  *done = own != nullptr || capturing;
  if (!*done) return CUDA_SUCCESS;
  if (!capturing || (own != nullptr && own->id_ != captured.capture)) {
    own->broken_ = true;
    const int status = capturing ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    return Complain(status, "a captured stream waits for an event that is not of the same capture");
  }
  if (own != nullptr) {
    Join(own->last_[&stream], captured.nodes);
    return CUDA_SUCCESS;
  }
  if (stream.legacy()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  Capture* const joined = Active().at(captured.capture);
  joined->last_[&stream] = captured.nodes;
  joined->Enlist(stream);
  return CUDA_SUCCESS;
}

bool Capture::Has(const Event& event) {
  const uint64_t id = event.captured().capture;
  if (id == 0) return false;
  std::lock_guard lock(CaptureMutex());
  return Active().contains(id);
}

Capture::State Capture::Of(Stream& stream) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr) return {};
  if (capture->broken_) return {.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED};
  std::vector<GraphNode*>& told = capture->told_[&stream];
  told = capture->last_[&stream];
  return {CU_STREAM_CAPTURE_STATUS_ACTIVE, capture->id_, capture->graph_, told};
}

int Capture::SetLast(Stream& stream, std::span<GraphNode* const> nodes, bool instead) {
  std::lock_guard lock(CaptureMutex());
  Capture* const capture = stream.capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  for (const GraphNode* const node : nodes) {
    if (&node->graph() != capture->graph_) return CUDA_ERROR_INVALID_VALUE;
  }
  auto& last = capture->last_[&stream];
  if (instead) last.clear();
  Join(last, nodes);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client
