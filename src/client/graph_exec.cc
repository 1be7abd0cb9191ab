#include "client/graph_exec.h"

namespace tutti::client {

using namespace tutti::cuda;

constinit Pool<GraphExec, 1 << 16> GraphExec::pool_;

GraphExec::GraphExec(Graph* copy, std::vector<GraphNode*> order, uint64_t flags)
    : copy_(copy), order_(std::move(order)), flags_(flags) {
  for (GraphNode* const node : copy_->nodes()) own_.emplace(node->origin(), node);
}

GraphExec::~GraphExec() { Graph::Destroy(copy_); }

Answer<GraphExec*> GraphExec::Create(const Graph& graph, uint64_t flags) {
  CU_TRY_OR_REFUSE(graph.Ordered() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  Graph* const copy = graph.Clone(true);
  if (copy == nullptr) return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
  GraphExec* const exec = pool_.Create(copy, *copy->Ordered(), flags);
  if (exec != nullptr) return exec;
  Graph::Destroy(copy);
  return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
}

void GraphExec::Destroy(GraphExec* exec) {
  if (pool_.Retire(exec)) pool_.Delete(exec);
}

int GraphExec::Launch(Stream& stream) {
  std::lock_guard lock(launch_mutex_);
  if (!last_launch_.Reached() && last_launch_.slot != stream.slot()) {
    stream.Submit(wire::RecordKind::kWait,
                  wire::WaitBody{.stream = last_launch_.slot, .ticket = last_launch_.ticket()});
  }
  for (const GraphNode* const node : order_) {
    if (Enabled(node)) CU_TRY(Run(node->work(), stream));
  }
  last_launch_ = stream.LastMark();
  return CUDA_SUCCESS;
}

GraphNode* GraphExec::Own(const GraphNode* node) const {
  const auto found = own_.find(node);
  return found != own_.end() ? found->second : nullptr;
}

void GraphExec::Enable(const GraphNode* own, bool enabled) {
  if (enabled) {
    disabled_.erase(own);
  } else {
    disabled_.insert(own);
  }
}

// Nodes are matched by the order of their making, as the API's own graphs do where capture repeats itself; what each
// comes after must then be the same, too.
GraphExec::Difference GraphExec::Update(const Graph& graph) {
  const auto& theirs = graph.nodes();
  const auto& ours = copy_->nodes();
  if (theirs.size() != ours.size()) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr};
  std::map<const GraphNode*, GraphNode*> own;
  for (size_t i = 0; i < theirs.size(); ++i) own.emplace(theirs[i], ours[i]);
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i]->type() != ours[i]->type()) return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, theirs[i]};
    std::set<const GraphNode*> before(ours[i]->before().begin(), ours[i]->before().end());
    bool same = before.size() == theirs[i]->before().size();
    for (const GraphNode* const earlier : theirs[i]->before()) same = same && before.contains(own.at(earlier));
    if (!same) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, theirs[i]};
  }
  for (size_t i = 0; i < theirs.size(); ++i) ours[i]->Become(theirs[i]->work());
  own_ = std::move(own);
  return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr};
}

}  // namespace tutti::client
