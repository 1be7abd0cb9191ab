// Executable graphs.
#include "client/graph/graph_exec.h"

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/device.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"
#include "client/graph/capture.h"
#include "client/graph/device_graph.h"

namespace tutti::client::entry {
namespace {

constexpr uint64_t kKnownFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult Instantiate(CUgraphExec* out, CUgraph handle, uint64_t flags) {
  CU_ASSIGN(Graph* const graph, FindGraph(handle));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr uint64_t kNotTogether =
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  if ((flags & ~kKnownFlags) != 0 || (flags & kNotTogether) == kNotTogether) return CUDA_ERROR_INVALID_VALUE;
  if (graph->around() != nullptr)
    return Complain(CUDA_ERROR_INVALID_VALUE, "the body of a conditional node cannot be instantiated by itself");
  CU_ASSIGN(GraphExec* const exec, GraphExec::Create(*graph, flags));
  *out = exec->handle();
  return CUDA_SUCCESS;
}

CUresult Set(CUgraphExec exec_handle, CUgraphNode handle, Answer<NodeWork> work) {
  CU_ASSIGN(GraphExec* const exec, FindExec(exec_handle));
  CU_ASSIGN(const GraphNode* const node, FindNode(handle));
  GraphNode* const own = exec->Own(node);
  if (own == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!work) return work.error();
  if (static_cast<int>(work->index()) != own->type()) return CUDA_ERROR_INVALID_VALUE;
  if (!MayBecome(own->work(), *work)) return CUDA_ERROR_INVALID_VALUE;
  if (exec->for_device()) CU_TRY(CheckDeviceWork(*work));
  exec->Changed();
  return own->Become(*work) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return Instantiate(out, graph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* wrong, char* log, size_t log_bytes) {
  if (wrong != nullptr) *wrong = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return Instantiate(out, graph, 0);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  parameters->hErrNode_out = nullptr;
  const CUresult status = Instantiate(out, graph, parameters->flags);
  Graph* const found = Graph::Find(graph);
  const bool unused = found != nullptr && found->has_unused_condition();
  if (status != CUDA_SUCCESS && found != nullptr &&
      (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    const DeviceGraphFault fault = CheckDeviceGraph(*found);
    if (fault.status != 0) {
      parameters->result_out = fault.result;
      parameters->hErrNode_out = fault.node != nullptr ? fault.node->handle() : nullptr;
      return status;
    }
  }
  parameters->result_out = status == CUDA_SUCCESS               ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                           : unused                             ? CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED
                           : status == CUDA_ERROR_INVALID_VALUE ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                                : CUDA_GRAPH_INSTANTIATE_ERROR;
  return status;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  CU_ASSIGN(GraphExec* const exec, FindExec(handle));
  GraphExec::Destroy(exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, uint64_t* flags) {
  CU_ASSIGN(const GraphExec* const exec, FindExec(handle));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags();
  return CUDA_SUCCESS;
}

// In a captured stream the graph becomes a child graph of the captured one.
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  CU_ASSIGN(GraphExec* const exec, FindExec(handle));
  CU_ASSIGN(Stream* const stream, StreamOf(stream_handle));
  if (stream->capture() == nullptr) return exec->Launch(*stream);
  if (exec->has_memory_nodes()) return Capture::Break(*stream, "launch of a graph that allocates or frees memory");
  if (exec->is_single())
    return Capture::Break(*stream, "launch of a graph with conditional nodes, or with nodes that kernels change");
  Graph* const copy = exec->Copy();
  return copy != nullptr ? Capture::Add(*stream, ChildWork{copy}) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  CU_ASSIGN(GraphExec* const exec, FindExec(handle));
  CU_ASSIGN(const Stream* const stream, StreamOf(stream_handle));
  return exec->Upload(stream->context());
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  CU_ASSIGN(GraphExec* const exec, FindExec(handle));
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphExec::Difference difference = exec->Update(*graph);
  *info = {.result = difference.result,
           .errorNode = difference.node != nullptr ? difference.node->handle() : nullptr,
           .errorFromNode = nullptr};
  return difference.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* wrong, CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult status = cuGraphExecUpdate_v2(exec, graph, &info);
  if (wrong != nullptr) *wrong = info.errorNode;
  if (result != nullptr) *result = info.result;
  return status;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return p != nullptr ? Set(exec, node, Described(p, p->kern, p->ctx)) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Set(exec, node, Described(p));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext) {
  return Set(exec, node, Described(copy));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill,
                                        CUcontext) {
  return Set(exec, node, Described(fill));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  return Set(exec, node, Described(host));
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(exec, node, DescribedEvent(event, true));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(exec, node, DescribedEvent(event, false));
}
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations) {
  return Set(exec, node, Described(operations));
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* p) {
  return Set(exec, node, Described(p));
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return Set(exec, node, DescribedChild(child));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int enabled) {
  CU_ASSIGN(GraphExec* const exec, FindExec(handle));
  CU_ASSIGN(const GraphNode* const node, FindNode(node_handle));
  const GraphNode* const own = exec->Own(node);
  if (own == nullptr || own->type() > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
  if (own->graph().around() != nullptr)
    return Complain(CUDA_ERROR_NOT_SUPPORTED, "nodes in the body of a conditional node cannot be disabled");
  exec->Enable(own, enabled != 0);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int* enabled) {
  CU_ASSIGN(const GraphExec* const exec, FindExec(handle));
  CU_ASSIGN(const GraphNode* const node, FindNode(node_handle));
  const GraphNode* const own = exec->Own(node);
  if (own == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *enabled = exec->Enabled(own);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
