// Nodes that allocate and free memory.
#include "client/entry/graph_memory.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"
#include "client/graph/capture.h"
#include "client/memory/graph_memory.h"

namespace tutti::client::entry {
namespace {

// The given one, if it is on the device.
Answer<Context*> ContextOn(Device& device, Context& given) {
  if (&given.device() == &device) return &given.owner();
  CU_TRY_OR_REFUSE(device.primary().Check());
  return &device.primary();
}

Answer<GraphAllocation::Handle> AllocateIn(const Graph& graph, std::span<GraphNode* const> before, Context& context,
                                           uint64_t bytes) {
  if (graph.owned())
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "a child graph, or a body of a conditional node, cannot allocate memory of its own"));
  if (const auto freed = graph.FreedBefore(before, context.device(), bytes))
    return GraphAllocation::CreateInPlaceOf(*freed);
  return GraphAllocation::Create(context, graph.id(), bytes);
}

Answer<GraphAllocation::Handle> ToFree(const Graph& graph, uint64_t address) {
  const auto allocation = GraphAllocation::Find(address);
  if (allocation == nullptr || graph.owned()) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "a graph frees {:#x}, which no node of a graph allocates: frees in "
                           "a graph are for memory that a graph allocates",
                           address));
  }
  const bool twice = std::ranges::any_of(graph.nodes(), [&](GraphNode* node) {
    const auto* const frees = node->As<FreeWork>();
    return frees != nullptr && frees->allocation == allocation;
  });
  if (twice || !allocation->MayBeFreedBy(graph.id()))
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "a graph frees {:#x}, which a graph frees already", address));
  return allocation;
}

bool Accessible(const CUDA_MEM_ALLOC_NODE_PARAMS& p) {
  if (p.accessDescCount > static_cast<size_t>(Device::count()) || (p.accessDescCount != 0 && p.accessDescs == nullptr))
    return false;
  return std::ranges::all_of(std::span(p.accessDescs, p.accessDescCount), [](const CUmemAccessDesc& access) {
    return access.location.type == CU_MEM_LOCATION_TYPE_DEVICE && Device::Find(access.location.id) != nullptr;
  });
}

CUmemPoolProps PropertiesOn(const Device& device) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device.ordinal()};
  return properties;
}

}  // namespace

int CaptureAllocation(uint64_t* out, uint64_t bytes, Device& device, Stream& stream) {
  const Capture::State state = Capture::Of(stream);
  if (state.graph == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  CU_ASSIGN(Context* const context, ContextOn(device, stream.context()));
  CU_ASSIGN(auto allocation, AllocateIn(*state.graph, state.last, *context, bytes));
  const uint64_t address = allocation->address();
  CU_TRY(Capture::Add(stream, AllocateWork{std::move(allocation), PropertiesOn(device), {}}));
  *out = address;
  return CUDA_SUCCESS;
}

int CaptureFree(Stream& stream, uint64_t address) {
  const Capture::State state = Capture::Of(stream);
  if (state.graph == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  CU_ASSIGN(const auto allocation, ToFree(*state.graph, address));
  CU_TRY(Capture::Add(stream, FreeWork{allocation}));
  allocation->SetFreedBy(state.graph->id());
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  CU_ASSIGN(Graph* const graph, FindGraph(handle));
  CU_ASSIGN(const auto earlier, FindNodes(before, count));
  if (out == nullptr || p == nullptr || p->bytesize == 0 || !Accessible(*p)) return CUDA_ERROR_INVALID_VALUE;
  const CUmemPoolProps& properties = p->poolProps;
  if (properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if (properties.handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;
  Device* const device = Device::Find(properties.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const current, UsableContext());
  CU_ASSIGN(Context* const context, ContextOn(*device, *current));
  CU_ASSIGN(auto allocation, AllocateIn(*graph, earlier, *context, p->bytesize));
  const uint64_t address = allocation->address();
  AllocateWork work{std::move(allocation), properties, {p->accessDescs, p->accessDescs + p->accessDescCount}};
  CU_ASSIGN(GraphNode* const node, graph->Add(earlier, std::move(work)));
  *out = node->handle();
  p->dptr = address;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* before, size_t count,
                               CUdeviceptr address) {
  CU_ASSIGN(Graph* const graph, FindGraph(handle));
  CU_ASSIGN(const auto earlier, FindNodes(before, count));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const auto allocation, ToFree(*graph, address));
  CU_ASSIGN(GraphNode* const node, graph->Add(earlier, FreeWork{allocation}));
  allocation->SetFreedBy(graph->id());
  *out = node->handle();
  return CUDA_SUCCESS;
}

// What it points to is the node's own.
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  CU_ASSIGN(GraphNode* const node, FindNode(handle));
  const auto* const work = node->As<AllocateWork>();
  if (work == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {.poolProps = work->properties,
          .accessDescs = work->access.data(),
          .accessDescCount = work->access.size(),
          .bytesize = work->allocation->bytes(),
          .dptr = work->allocation->address()};
  return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
  CU_ASSIGN(GraphNode* const node, FindNode(handle));
  const auto* const work = node->As<FreeWork>();
  if (work == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->allocation->address();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  const Device* const device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphMemoryUse use = GraphMemoryUse::Of(*device);
  const uint64_t numbers[] = {use.used, use.used_high, use.reserved, use.reserved_high};
  if (attribute < 0 || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(value, &numbers[attribute], sizeof numbers[attribute]);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  const Device* const device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  uint64_t number = 1;
  if (value != nullptr) std::memcpy(&number, value, sizeof number);
  if (number != 0) return CUDA_ERROR_INVALID_VALUE;  // marks can only be reset
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: GraphMemoryUse::ResetUsedHigh(*device); return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: GraphMemoryUse::ResetReservedHigh(*device); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

// Nothing is kept that no graph needs.
CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  return Device::Find(ordinal) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace tutti::client::entry
