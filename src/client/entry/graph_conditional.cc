// Conditional nodes of graphs.
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/entry/graph_handles.h"
#include "client/graph/conditional.h"

namespace tutti::client::entry {
namespace {

// Only the program's own graphs and bodies: the copy that a child graph is could not be one.
CUresult MayHaveConditionals(const Graph& graph) {
  if (!graph.owned() || graph.around() != nullptr) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_INVALID_VALUE, "a child graph cannot have conditional nodes");
}

Answer<Context*> ContextFor(CUcontext handle) {
  if (handle == nullptr) return UsableContext();
  Context* const context = Context::Find(handle);
  if (context == nullptr) return Refuse(CUDA_ERROR_INVALID_CONTEXT);
  CU_TRY_OR_REFUSE(context->Check());
  return context;
}

// The condition for a node of the graph.
Answer<Condition::Handle> ConditionFor(const Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& p) {
  Condition::Handle condition = Condition::Find(p.handle);
  if (condition == nullptr) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "{:#x} is no conditional handle: make one with cuGraphConditionalHandleCreate", p.handle));
  }
  const Graph* owner = &graph;
  uint32_t depth = 1;
  bool own = false;
  for (; owner != nullptr; owner = owner->around(), ++depth) own = own || owner->id() == condition->graph();
  if (!own) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "conditional handle {:#x} was created for a graph that the node is not in", p.handle));
  }
  if (depth > wire::kMostConditionalDepth + 1) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "more than {} conditional nodes within each other",
                           wire::kMostConditionalDepth));
  }
  if (p.ctx != nullptr && Context::Find(p.ctx) != condition->context()) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "a conditional node in another context than its handle {:#x} was created for", p.handle));
  }
  return condition;
}

CUresult CheckSize(const CUDA_CONDITIONAL_NODE_PARAMS& p) {
  const bool fits = p.type == CU_GRAPH_COND_TYPE_IF       ? p.size == 1 || p.size == 2
                    : p.type == CU_GRAPH_COND_TYPE_WHILE  ? p.size == 1
                    : p.type == CU_GRAPH_COND_TYPE_SWITCH ? p.size > 0
                                                          : false;
  if (fits) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_INVALID_VALUE,
                  "a conditional node of type {} with {} bodies: IF (0) has 1 or 2, WHILE (1) has 1, SWITCH (2) has at "
                  "least 1",
                  p.type, p.size);
}

}  // namespace

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out, CUgraph graph_handle, CUcontext context_handle,
                                        unsigned int launch_value, unsigned int flags) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  if (out == nullptr || (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(MayHaveConditionals(*graph));
  CU_ASSIGN(Context* const context, ContextFor(context_handle));
  const bool assigns = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
  CU_ASSIGN(Condition::Handle condition,
            Condition::Create(graph->id(), *context, assigns ? std::optional<uint32_t>(launch_value) : std::nullopt));
  *out = condition->number();
  graph->Keep(std::move(condition));
  return CUDA_SUCCESS;
}

// The array of bodies is the node's own. A graph's handle is its address, so the list of graphs is one of handles.
CUresult AddConditionalNode(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* before, size_t count,
                            CUDA_CONDITIONAL_NODE_PARAMS* p) {
  CU_ASSIGN(Graph* const graph, FindGraph(graph_handle));
  CU_ASSIGN(const auto earlier, FindNodes(before, count));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(MayHaveConditionals(*graph));
  CU_TRY(CheckSize(*p));
  CU_ASSIGN(Condition::Handle condition, ConditionFor(*graph, *p));
  CU_ASSIGN(GraphNode* const node, graph->Add(earlier, ConditionalWork{.condition = condition, .type = p->type}));
  auto& bodies = node->As<ConditionalWork>()->bodies;
  while (bodies.size() < p->size) {
    Graph* const body = Graph::Create(true, graph);
    if (body == nullptr) break;
    bodies.push_back(body);
  }
  const bool complete = bodies.size() == p->size;
  if (!complete || !condition->TakeForNode()) {
    graph->Remove(node);
    if (!complete) return CUDA_ERROR_OUT_OF_MEMORY;
    return Complain(CUDA_ERROR_INVALID_VALUE, "conditional handle {:#x} has a node already: create one for each",
                    p->handle);
  }
  p->phGraph_out = reinterpret_cast<CUgraph*>(bodies.data());
  *out = node->handle();
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
