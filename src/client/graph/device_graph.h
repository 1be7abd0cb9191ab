// Graphs that kernels launch (CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH): what may be in one, and how the server is
// told of it (wire/graph_description.h). It runs there as a whole, whoever launches it.
//
// As for all graphs, the caller serialises changes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "client/base/answer.h"
#include "client/context/context.h"
#include "client/graph/graph.h"

namespace tutti::client {

// What keeps a graph from being one: CUDA's result of the call, its explanation, and the node, if it is one's fault.
struct DeviceGraphFault {
  int status = 0;  // 0: it may be one
  cuda::CUgraphInstantiateResult result = 0;
  GraphNode* node = nullptr;
};
DeviceGraphFault CheckDeviceGraph(Graph& graph);
// Of a node's work alone.
int CheckDeviceWork(const NodeWork& work);

// The context of the graph's kernels, or else the thread's. Null if there is none.
Context* ContextOf(Graph& graph);

// `disabled`: nodes that do nothing. Prepares the kernels. INVALID_HANDLE if a module has been unloaded.
Answer<std::vector<uint8_t>> Describe(Graph& graph, const std::function<bool(const GraphNode*)>& disabled);

// The same of one kernel node that kernels change, of a graph that is launched node by node.
Answer<std::vector<uint8_t>> DescribeNode(const KernelWork& work, bool enabled);
// Calls `use` with each such node of the graph and of those in it, until it gives an error, which is returned.
int ForEachUpdatable(const Graph& graph, const std::function<int(const GraphNode&, const KernelWork&)>& use);

// Whether kernels of the graph may launch such graphs. INVALID_VALUE if they are of several contexts.
Answer<bool> MayLaunchGraphs(const Graph& graph);

}  // namespace tutti::client
