// Graphs: what they are made of.
#include "client/graph/graph.h"

#include <fmt/format.h>

#include <cstdio>

#include "client/base/complaint.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"

namespace tutti::client::entry {
namespace {

CUresult GiveEdges(const Graph& graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  size_t edges = 0;
  for (GraphNode* const node : graph.nodes()) {
    for (GraphNode* const later : node->after()) {
      if (from != nullptr && edges < *count) {
        from[edges] = node->handle();
        to[edges] = later->handle();
        if (data != nullptr) data[edges] = {};
      }
      ++edges;
    }
  }
  if (from != nullptr) {
    for (size_t i = edges; i < *count; ++i) from[i] = to[i] = nullptr;
  }
  *count = from != nullptr ? std::min(*count, edges) : edges;
  return CUDA_SUCCESS;
}

CUresult CheckPlain(const Graph& graph, const char* what) {
  if (!graph.has_memory_nodes()) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_INVALID_VALUE, "a graph that allocates or frees memory cannot be {}", what);
}

CUresult Edit(CUgraph graph_handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
              int (Graph::*edit)(GraphNode*, GraphNode*)) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  CU_ASSIGN(const auto earlier, FindNodes(from, count));
  CU_ASSIGN(const auto later, FindNodes(to, count));
  for (size_t i = 0; i < count; ++i) CU_TRY((graph->*edit)(earlier[i], later[i]));
  return CUDA_SUCCESS;
}

CUresult RemoveEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  CU_TRY(CheckPlain(*graph, "changed to have fewer dependencies"));
  return Edit(handle, from, to, count, &Graph::Disconnect);
}

void Clear(CUgraphEdgeData* data, const size_t* count) {
  if (data != nullptr) std::fill_n(data, *count, CUgraphEdgeData{});
}

}  // namespace

CUresult cuGraphCreate(CUgraph* out, unsigned int flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Graph* const graph = Graph::Create();
  if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = graph->handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  CU_ASSIGN(Graph* const graph, FindGraph(handle));
  if (graph->owned()) return CUDA_ERROR_INVALID_VALUE;
  Graph::Destroy(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(CheckPlain(*graph, "cloned"));
  if (graph->has_conditionals())
    return Complain(CUDA_ERROR_INVALID_VALUE, "a graph with conditional nodes cannot be cloned");
  if (graph->has_updatable_nodes())
    return Complain(CUDA_ERROR_INVALID_VALUE, "a graph with nodes that kernels change cannot be cloned");
  Graph* const clone = graph->Clone(false);
  if (clone == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = clone->handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  CU_ASSIGN(const GraphNode* const node, FindNode(original));
  CU_ASSIGN(const Graph* const graph, FindGraph(clone));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (GraphNode* const candidate : graph->nodes()) {
    if (candidate->origin() != node) continue;
    *out = candidate->handle();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  return GiveNodes(graph->nodes(), out, count);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  std::vector<GraphNode*> roots;
  for (GraphNode* const node : graph->nodes()) {
    if (node->before().empty()) roots.push_back(node);
  }
  return GiveNodes(roots, out, count);
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  return GiveEdges(*graph, from, to, data, count);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  CU_ASSIGN(const GraphNode* const node, FindNode(handle));
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  CU_ASSIGN(const GraphNode* const node, FindNode(handle));
  CU_TRY(GiveNodes(node->before(), out, count));
  Clear(out != nullptr ? data : nullptr, count);
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, out, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  CU_ASSIGN(const GraphNode* const node, FindNode(handle));
  CU_TRY(GiveNodes(node->after(), out, count));
  Clear(out != nullptr ? data : nullptr, count);
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, out, nullptr, count);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  return Edit(graph, from, to, count, &Graph::Connect);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return Edit(graph, from, to, count, &Graph::Connect);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return RemoveEdges(graph, from, to, count);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return RemoveEdges(graph, from, to, count);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  CU_ASSIGN(GraphNode* const node, FindNode(handle));
  CU_TRY(CheckPlain(node->graph(), "changed to have fewer nodes"));
  const auto* const kernel = node->As<KernelWork>();
  if (kernel != nullptr && kernel->device_node != 0)
    return Complain(CUDA_ERROR_INVALID_VALUE, "a node that kernels change cannot be removed");
  node->graph().Remove(node);
  return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int) {
  static constexpr const char* kTypes[] = {"kernel", "memcpy", "memset", "host",     "graph", "empty", "wait",
                                           "record", "signal", "await",  "allocate", "free",  "words", "conditional"};
  CU_ASSIGN(const Graph* const graph, FindGraph(handle));
  FILE* const file = path != nullptr ? std::fopen(path, "we") : nullptr;
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  fmt::print(file, "digraph graph_{} {{\n", fmt::ptr(graph));
  for (GraphNode* const node : graph->nodes()) {
    const auto* const kernel = node->As<KernelWork>();
    fmt::print(file, "  \"{}\" [label=\"{}\"];\n", fmt::ptr(node),
               kernel != nullptr ? kernel->function->info().name : kTypes[node->type()]);
    for (const GraphNode* const later : node->after())
      fmt::print(file, "  \"{}\" -> \"{}\";\n", fmt::ptr(node), fmt::ptr(later));
  }
  fmt::print(file, "}}\n");
  return std::fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult cuUserObjectCreate(CUuserObject* out, void* object, CUhostFn destroy, unsigned int references, unsigned int) {
  if (out == nullptr || destroy == nullptr || references == 0) return CUDA_ERROR_INVALID_VALUE;
  UserObject* const made = UserObject::Create(object, destroy, references);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = made->handle();
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  UserObject* const object = UserObject::Find(handle);
  if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  object->Retain(count);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  UserObject* const object = UserObject::Find(handle);
  if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  UserObject::Release(object, count);
  return CUDA_SUCCESS;
}

// Flag 1: the caller's references move to the graph.
CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count, unsigned int flags) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  UserObject* const object = UserObject::Find(handle);
  if (object == nullptr || count == 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  if (flags == 0) object->Retain(count);
  graph->user_objects().Take(object, count);
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  UserObject* const object = UserObject::Find(handle);
  return object != nullptr && graph->user_objects().Release(object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::client::entry
