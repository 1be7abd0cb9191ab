// Conditional nodes: which bodies they may have, and how they are submitted.
//
// The whole node is submitted at once, every body with the marks around it (wire/ring_layout.h), and the server decides
// when the stream gets there. So nothing may interrupt it: all of it is checked before its first record, and it goes
// into a stream of the executable graph's own (client/graph/graph_exec.h), to which nobody else submits and which never
// makes its caller wait.
#pragma once

#include <vector>

#include "client/context/stream.h"
#include "client/graph/graph.h"

namespace tutti::client {

// Records that a graph with conditional nodes may take, since none of them can be awaited before all are submitted.
inline constexpr uint32_t kMostConditionalWeight = wire::kSharedBacklog;

// Checks that the bodies of the graph's conditional nodes hold kernels of the context of the node's handle, copies and
// fills of memory that kernels reach, empty nodes, child graphs, conditional nodes, and no cycles: else INVALID_VALUE,
// or NOT_SUPPORTED for what CUDA allows. With a stream it also checks that all of it can be submitted there without a
// failure, and prepares the kernels.
int CheckBodies(const Graph& graph, const Stream* stream = nullptr);

// The conditions of the graph's nodes, those in bodies included.
std::vector<const Condition*> ConditionsOf(const Graph& graph);

int RunConditional(const ConditionalWork& work, Stream& stream, uint32_t environment);

}  // namespace tutti::client
