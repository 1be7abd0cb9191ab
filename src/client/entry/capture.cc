// Stream capture: what a program asks of a stream becomes a graph.
#include "client/graph/capture.h"

#include <span>

#include "client/context/context.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"

namespace tutti::client::entry {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  return Capture::Begin(*stream, mode);
}

CUresult cuStreamBeginCapture(CUstream handle) {
  return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle, const CUgraphNode* nodes,
                                     const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  CU_ASSIGN(const auto before, FindNodes(nodes, count));
  for (const GraphNode* const node : before) {
    if (&node->graph() != graph) return CUDA_ERROR_INVALID_VALUE;
  }
  return Capture::Begin(*stream, mode, graph, before);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  const auto graph = Capture::End(*stream);
  *out = graph ? (*graph)->handle() : nullptr;
  return graph ? CUDA_SUCCESS : graph.error();
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return cuStreamGetCaptureInfo(handle, status, nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id) {
  return cuStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

// Querying the legacy stream while a stream that synchronises with it is captured is an error, but does not invalidate
// the capture.
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  if (stream->legacy() && stream->context().captured_streams() != 0) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const Capture::State state = Capture::Of(*stream);
  *status = state.status;
  if (id != nullptr) *id = state.id;
  if (graph != nullptr) *graph = state.graph != nullptr ? state.graph->handle() : nullptr;
  // A node's handle is its address, so the list is one of handles.
  if (nodes != nullptr) *nodes = reinterpret_cast<const CUgraphNode*>(state.last.data());
  if (count != nullptr) *count = state.last.size();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;  // edges carry no data
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, nodes, count);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count,
                                              unsigned int flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  CU_ASSIGN(const auto last, FindNodes(nodes, count));
  return Capture::SetLast(*stream, last, flags == 1);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count, unsigned int flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = Capture::ExchangeMode(*mode);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
