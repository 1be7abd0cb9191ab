// Graph nodes: created from CUDA's structures, and queried into them.
#include <algorithm>
#include <span>

#include "client/array/copy_description.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/event.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"
#include "client/module/library.h"

namespace tutti::client::entry {
namespace {

CUresult Add(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* before, size_t count, Answer<NodeWork> work) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  CU_ASSIGN(const auto earlier, FindNodes(before, count));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!work) return work.error();
  if (auto* const child = std::get_if<ChildWork>(&*work)) {
    child->graph = child->graph->Clone(true);
    if (child->graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  CU_ASSIGN(GraphNode* const node, graph->Add(earlier, std::move(*work)));
  *out = node->handle();
  return CUDA_SUCCESS;
}

CUresult Set(CUgraphNode handle, Answer<NodeWork> work) {
  CU_ASSIGN(GraphNode* const node, FindNode(handle));
  if (!work) return work.error();
  if (static_cast<int>(work->index()) != node->type()) return CUDA_ERROR_INVALID_VALUE;
  return node->Become(*work) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

template <typename Kind>
Answer<Kind*> Find(CUgraphNode handle) {
  CU_ASSIGN_OR_REFUSE(GraphNode* const node, FindNode(handle));
  Kind* const work = node->As<Kind>();
  if (work == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return work;
}

template <typename Kind>
CUresult GiveEvent(CUgraphNode handle, CUevent* event) {
  CU_ASSIGN(const Kind* const work, Find<Kind>(handle));
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *event = work->event;
  return CUDA_SUCCESS;
}

// Programs read the arguments through the returned list, a thread-local that the thread's next query overwrites.
CUDA_KERNEL_NODE_PARAMS_v1 Describing(const KernelWork& work) {
  static thread_local std::vector<void*>* pointers = nullptr;
  if (pointers == nullptr) pointers = new std::vector<void*>;
  *pointers = work.Pointers();
  const LaunchShape& s = work.shape;
  return {.func = work.function->handle(),
          .gridDimX = s.grid[0],
          .gridDimY = s.grid[1],
          .gridDimZ = s.grid[2],
          .blockDimX = s.block[0],
          .blockDimY = s.block[1],
          .blockDimZ = s.block[2],
          .sharedMemBytes = s.dynamic_shared_bytes,
          .kernelParams = pointers->data(),
          .extra = nullptr};
}

}  // namespace

Answer<NodeWork> Described(const CUDA_KERNEL_NODE_PARAMS_v1* p, CUkernel of_library, CUcontext context_handle) {
  if (p == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  const void* const named = context_handle != nullptr ? static_cast<void*>(context_handle) : current_context;
  Context* const context = Context::Find(named);
  if (context == nullptr) return Refuse(CUDA_ERROR_INVALID_CONTEXT);
  const LaunchShape shape{.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                          .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                          .dynamic_shared_bytes = p->sharedMemBytes};
  const auto function = p->func != nullptr ? p->func : reinterpret_cast<CUfunction>(of_library);
  CU_ASSIGN_OR_REFUSE(KernelWork work, MakeKernelWork(function, context->owner(), shape, p->kernelParams, p->extra));
  if (Kernel::Find(of_library) != nullptr) work.kernel = of_library;  // the runtime names both
  return work;
}
Answer<NodeWork> Described(const CUDA_MEMCPY3D* copy) {
  if (copy == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return MakeCopyWork(*copy);
}
Answer<NodeWork> Described(const CUDA_MEMSET_NODE_PARAMS* fill) {
  if (fill == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return MakeFillWork(*fill);
}
Answer<NodeWork> Described(const CUDA_HOST_NODE_PARAMS* host) {
  if (host == nullptr || host->fn == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return HostWork{host->fn, host->userData};
}
Answer<NodeWork> Described(const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations) {
  if (operations == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return MakeMemoryWork(*operations);
}
Answer<NodeWork> DescribedEvent(CUevent event, bool record) {
  if (Event::Find(event) == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return record ? NodeWork(RecordWork{event}) : NodeWork(WaitWork{event});
}
Answer<NodeWork> DescribedChild(CUgraph handle) {
  CU_ASSIGN_OR_REFUSE(Graph* const graph, FindGraph(handle));
  if (graph->has_memory_nodes())
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "a graph that allocates or frees memory cannot be a child graph"));
  if (graph->has_conditionals())
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "a graph with conditional nodes cannot be a child graph"));
  if (graph->has_updatable_nodes())
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "a graph with nodes that kernels change cannot be a child graph"));
  return ChildWork{graph};
}
Answer<NodeWork> Described(const CUgraphNodeParams* p) {
  if (p == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return Described(&p->kernel, p->kernel.kern, p->kernel.ctx);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return Described(&p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: return Described(&p->memset);
    case CU_GRAPH_NODE_TYPE_HOST: return Described(&p->host);
    case CU_GRAPH_NODE_TYPE_GRAPH: return DescribedChild(p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY: return EmptyWork{};
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return DescribedEvent(p->event.event, p->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return Described(&p->memOp);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return Refuse(
          Complain(CUDA_ERROR_NOT_SUPPORTED, "a conditional node cannot be changed: change the nodes of its bodies"));
    default: return Refuse(Complain(CUDA_ERROR_NOT_SUPPORTED, "graph nodes of type {} are not supported", p->type));
  }
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(out, graph, before, count, Described(p, p->kern, p->ctx));
}
CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Add(out, graph, before, count, Described(p));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext) {
  return Add(out, graph, before, count, Described(copy));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  return Add(out, graph, before, count, Described(fill));
}
CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                            const CUDA_HOST_NODE_PARAMS* host) {
  return Add(out, graph, before, count, Described(host));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                  CUgraph child) {
  return Add(out, graph, before, count, DescribedChild(child));
}
CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count) {
  return Add(out, graph, before, count, NodeWork(EmptyWork{}));
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                   CUevent event) {
  return Add(out, graph, before, count, DescribedEvent(event, true));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                 CUevent event) {
  return Add(out, graph, before, count, DescribedEvent(event, false));
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations) {
  return Add(out, graph, before, count, Described(operations));
}
CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                        CUgraphNodeParams* p) {
  if (p != nullptr && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    return cuGraphAddMemAllocNode(out, graph, before, count, &p->alloc);
  if (p != nullptr && p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    return cuGraphAddMemFreeNode(out, graph, before, count, p->free.dptr);
  if (p != nullptr && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return AddConditionalNode(out, graph, before, count, &p->conditional);
  return Add(out, graph, before, count, Described(p));
}
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, const CUgraphEdgeData*,
                           size_t count, CUgraphNodeParams* p) {
  return cuGraphAddNode(out, graph, before, count, p);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return p != nullptr ? Set(node, Described(p, p->kern, p->ctx)) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Set(node, Described(p));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) { return Set(node, Described(copy)); }
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill) {
  return Set(node, Described(fill));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  return Set(node, Described(host));
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return Set(node, DescribedEvent(event, true));
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return Set(node, DescribedEvent(event, false));
}
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations) {
  return Set(node, Described(operations));
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* p) { return Set(node, Described(p)); }

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  CU_ASSIGN(const KernelWork* const work, Find<KernelWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = Describing(*work);
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) {
  CU_TRY(cuGraphKernelNodeGetParams(node, out));
  CU_ASSIGN(const KernelWork* const work, Find<KernelWork>(node));
  out->kern = work->kernel;
  out->ctx = reinterpret_cast<CUcontext>(&work->function->context());
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  CU_ASSIGN(const CopyWork* const work, Find<CopyWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->description;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  CU_ASSIGN(const FillWork* const work, Find<FillWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const FillRequest& r = work->request;
  *out = {.dst = r.address,
          .pitch = r.pitch,
          .value = static_cast<unsigned>(r.value),
          .elementSize = r.element_bytes,
          .width = r.width,
          .height = r.height};
  return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  CU_ASSIGN(const HostWork* const work, Find<HostWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {work->function, work->user};
  return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  CU_ASSIGN(const ChildWork* const work, Find<ChildWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->graph->handle();
  return CUDA_SUCCESS;
}
// The array is the node's own.
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  CU_ASSIGN(MemoryWork* const work, Find<MemoryWork>(node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {.ctx = work->context,
          .count = static_cast<unsigned>(work->operations.size()),
          .paramArray = work->operations.data(),
          .flags = 0};
  return CUDA_SUCCESS;
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) { return GiveEvent<RecordWork>(node, out); }
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) { return GiveEvent<WaitWork>(node, out); }

// Only the kernel attributes that affect execution; the others are hints.
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue* value) {
  CU_ASSIGN(KernelWork* const work, Find<KernelWork>(node));
  if (value == nullptr || id < 0 || id > CU_LAUNCH_ATTRIBUTE_LAST) return CUDA_ERROR_INVALID_VALUE;
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) work->shape.cooperative = value->number != 0;
  if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    const int wanted = value->deviceUpdatableKernelNode.deviceUpdatable;
    if (wanted != 1 && (wanted != 0 || work->device_node != 0)) return CUDA_ERROR_INVALID_VALUE;
    if (wanted == 1 && work->device_node == 0) work->device_node = NewDeviceNode();
    // As CUDA documents it, for all that its parameter says.
    const_cast<CUlaunchAttributeValue*>(value)->deviceUpdatableKernelNode.devNode =
        reinterpret_cast<void*>(work->device_node);
  }
  if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    const uint32_t cluster[] = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    if (cluster[0] == 0 && (cluster[1] | cluster[2]) != 0) return CUDA_ERROR_INVALID_VALUE;
    std::ranges::copy(cluster, work->shape.cluster);
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
  CU_ASSIGN(const KernelWork* const work, Find<KernelWork>(node));
  if (value == nullptr || id < 0 || id > CU_LAUNCH_ATTRIBUTE_LAST) return CUDA_ERROR_INVALID_VALUE;
  *value = {};
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value->number = work->shape.cooperative;
  if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    value->deviceUpdatableKernelNode.deviceUpdatable = work->device_node != 0 ? 1 : 0;
    value->deviceUpdatableKernelNode.devNode = reinterpret_cast<void*>(work->device_node);
  }
  if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    value->clusterDim = {work->shape.cluster[0], work->shape.cluster[1], work->shape.cluster[2]};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  CU_ASSIGN(KernelWork* const destination, Find<KernelWork>(to));
  CU_ASSIGN(const KernelWork* const source, Find<KernelWork>(from));
  if (destination->device_node != 0 || source->device_node != 0) return CUDA_ERROR_INVALID_VALUE;
  destination->shape.cooperative = source->shape.cooperative;
  std::ranges::copy(source->shape.cluster, destination->shape.cluster);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
