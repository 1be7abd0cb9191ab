#include "client/graph/graph_exec.h"

#include <algorithm>

namespace tutti::client {

using namespace tutti::cuda;

constinit Pool<GraphExec, 1 << 16> GraphExec::pool_;

GraphExec::GraphExec(Graph* copy, GraphPlan plan, uint64_t flags, Graph::Instance instance)
    : copy_(copy), plan_(std::move(plan)), flags_(flags), instance_(std::move(instance)) {
  for (GraphNode* const node : copy_->nodes()) own_.emplace(node->origin(), node);
  FindMemory();
}

void GraphExec::FindMemory() {
  memory_ = {};
  if (!has_memory_nodes()) return;
  std::set<const GraphAllocation*> own;
  for (GraphNode* const node : copy_->nodes()) {
    const auto* const allocates = node->As<AllocateWork>();
    if (allocates == nullptr) continue;
    memory_.allocated.push_back(allocates->allocation);
    own.insert(allocates->allocation.get());
  }
  for (GraphNode* const node : copy_->nodes()) {
    const auto* const frees = node->As<FreeWork>();
    if (frees != nullptr && !own.contains(frees->allocation.get())) memory_.freed.push_back(frees->allocation);
  }
}

GraphExec::~GraphExec() {
  for (const Lane& lane : lanes_) {
    if (Stream* const stream = lane.Find()) Stream::Destroy(stream);
  }
  Graph::Destroy(copy_);
}

Answer<GraphExec*> GraphExec::Create(Graph& graph, uint64_t flags) {
  CU_TRY_OR_REFUSE(graph.Ordered() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  Graph::Instance instance;
  if (graph.has_memory_nodes()) {
    CU_ASSIGN_OR_REFUSE(instance, graph.TakeInstance());
  }
  Graph* const copy = graph.Clone(true);
  if (copy == nullptr) return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
  GraphExec* const exec = pool_.Create(copy, MakePlan(*copy->Ordered()), flags, std::move(instance));
  if (exec != nullptr) return exec;
  Graph::Destroy(copy);
  return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
}

void GraphExec::Destroy(GraphExec* exec) {
  if (pool_.Retire(exec)) pool_.Delete(exec);
}

// If there are too many streams, or if its lane is full of launches from another stream, a branch runs in the launch's
// stream.
Stream& GraphExec::LaneOf(uint32_t number, Stream& stream, uint32_t weight) {
  if (number == 0) return stream;
  lanes_.resize(std::max<size_t>(lanes_.size(), number));
  Lane& lane = lanes_[number - 1];
  Stream* const kept = lane.Find();
  if (kept != nullptr && &kept->context() == &stream.context() && kept->priority() == stream.priority())
    return kept->RoomAfter(weight).Reached() ? *kept : stream;
  if (kept != nullptr) Stream::Destroy(kept);
  Stream* const made = Stream::Create(stream.context(), {.non_blocking = true, .priority = stream.priority()});
  lane = {made, made != nullptr ? made->id() : 0};
  return made != nullptr ? *made : stream;
}

// An upper bound over all lanes.
uint32_t GraphExec::LaunchWeight() const {
  uint32_t weight = 2 * plan_.lanes + 1;
  for (const GraphPlan::Step& step : plan_.steps)
    weight += static_cast<uint32_t>(step.after.size()) + Weight(step.node->work());
  return weight;
}

// The position to wait for so that a launch will not block. Lanes full of launches from this stream get room as the
// stream does.
StreamMark GraphExec::RoomAfter(Stream& stream, uint32_t weight) const {
  const StreamMark room = stream.RoomAfter(weight);
  if (!room.Reached() || last_launch_.slot != stream.slot()) return room;
  for (const Lane& lane : lanes_) {
    Stream* const kept = lane.Find();
    const StreamMark in_lane = kept != nullptr ? kept->RoomAfter(weight) : StreamMark{};
    if (!in_lane.Reached()) return in_lane;
  }
  return {};
}

// Launches are serialised, so submitting one holds a lock. A full stream must block only the thread that submits to it
// (client/context/backlog.h), so waiting for room happens without the lock. Only a graph heavier than half of a
// stream's bound may block while it is being submitted, when no other launch of it could begin anyway.
int GraphExec::Launch(Stream& stream) {
  std::unique_lock lock(launch_mutex_);
  const uint32_t weight = LaunchWeight();
  for (StreamMark room = RoomAfter(stream, weight); !room.Reached(); room = RoomAfter(stream, weight)) {
    lock.unlock();
    CU_TRY(room.Wait());
    lock.lock();
  }
  std::vector<GraphAllocation::Handle> begun;
  if (has_memory_nodes()) {
    CU_ASSIGN(begun, GraphAllocation::Take(memory_, (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0));
  }
  stream.WaitFor(last_launch_);
  std::vector<Stream*> lanes{&stream};
  if (plan_.lanes > 1) {
    const StreamMark begin = stream.FullMark();
    for (uint32_t lane = 1; lane < plan_.lanes; ++lane) {
      lanes.push_back(&LaneOf(lane, stream, weight));
      lanes.back()->WaitFor(begin);
    }
  }
  const int status = RunSteps(lanes);
  if (status != 0) GraphAllocation::Undo(begun);
  for (const Stream* const lane : lanes) stream.WaitFor(lane->LastMark());
  last_launch_ = stream.LastMark();
  return status;
}

int GraphExec::RunSteps(std::span<Stream* const> lanes) const {
  std::vector<StreamMark> done(plan_.lanes > 1 ? plan_.steps.size() : 0);
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const GraphPlan::Step& step = plan_.steps[i];
    Stream& lane = *lanes[step.lane];
    for (const uint32_t earlier : step.after) lane.WaitFor(done[earlier]);
    if (Enabled(step.node)) CU_TRY(Run(step.node->work(), lane));
    if (!done.empty()) done[i] = lane.LastMark();
  }
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

// Nodes are matched in order of creation, as the driver does for repeated captures; their dependencies must match as
// well.
//
// A graph with memory nodes then has this one as its executable graph, and the former graph has none.
GraphExec::Difference GraphExec::Update(Graph& graph) {
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
    if (!MayBecome(ours[i]->work(), theirs[i]->work()))
      return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, theirs[i]};
  }
  if (instance_ != nullptr && !graph.Has(instance_)) {
    auto taken = graph.TakeInstance();
    if (!taken) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, nullptr};
    instance_ = std::move(*taken);
  }
  for (size_t i = 0; i < theirs.size(); ++i) ours[i]->Become(theirs[i]->work());
  own_ = std::move(own);
  FindMemory();
  return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr};
}

}  // namespace tutti::client
