// Conversion of graph and node handles for API calls.
#pragma once

#include <algorithm>
#include <vector>

#include "client/graph/graph.h"
#include "client/graph/graph_exec.h"
#include "cuda/types.h"

namespace tutti::client::entry {

using namespace tutti::cuda;

inline Answer<Graph*> FindGraph(CUgraph handle) {
  Graph* const graph = Graph::Find(handle);
  if (graph == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return graph;
}

inline Answer<GraphNode*> FindNode(CUgraphNode handle) {
  GraphNode* const node = GraphNode::Find(handle);
  if (node == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return node;
}

inline Answer<GraphExec*> FindExec(CUgraphExec handle) {
  GraphExec* const exec = GraphExec::Find(handle);
  if (exec == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return exec;
}

inline Answer<std::vector<GraphNode*>> FindNodes(const CUgraphNode* handles, size_t count) {
  if (count != 0 && handles == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < count; ++i) {
    CU_ASSIGN_OR_REFUSE(GraphNode* const node, FindNode(handles[i]));
    nodes.push_back(node);
  }
  return nodes;
}

// Copies a list into the program's array, or returns its length alone if there is no array; the rest of the array is
// nulled.
inline CUresult GiveNodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i]->handle() : nullptr;
  }
  *count = out != nullptr ? std::min(*count, nodes.size()) : nodes.size();
  return CUDA_SUCCESS;
}

// Converts CUDA's node structures.
Answer<NodeWork> Described(const CUDA_KERNEL_NODE_PARAMS_v1* kernel, CUkernel of_library = nullptr,
                           CUcontext context = nullptr);
Answer<NodeWork> Described(const CUDA_MEMCPY3D* copy);
Answer<NodeWork> Described(const CUDA_MEMSET_NODE_PARAMS* fill);
Answer<NodeWork> Described(const CUDA_HOST_NODE_PARAMS* host);
Answer<NodeWork> Described(const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations);
Answer<NodeWork> DescribedEvent(CUevent event, bool record);
// A child's graph is not copied yet.
Answer<NodeWork> DescribedChild(CUgraph child);
// Of all types but conditional nodes and those that allocate and free memory, which are added and never changed.
Answer<NodeWork> Described(const CUgraphNodeParams* node);

CUresult AddConditionalNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                            CUDA_CONDITIONAL_NODE_PARAMS* p);

}  // namespace tutti::client::entry
