#include "client/graph/graph_exec.h"

#include <algorithm>
#include <atomic>

#include "client/base/complaint.h"
#include "client/copy/staging.h"
#include "client/graph/conditional.h"
#include "client/graph/device_graph.h"

namespace tutti::client {

using namespace tutti::cuda;

namespace {

// A number for a launch whose kernels may launch graphs: not one of those that are not over.
uint32_t NewEnvironment() {
  static std::atomic<uint32_t> last{0};
  uint32_t number = 0;
  while (number == 0) number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace

constinit Pool<GraphExec, 1 << 16> GraphExec::pool_;

GraphExec::GraphExec(Graph* copy, GraphPlan plan, uint64_t flags, Graph::Instance instance)
    : copy_(copy),
      plan_(std::move(plan)),
      flags_(flags),
      all_lanes_own_(copy->has_conditionals()),
      instance_(std::move(instance)),
      has_updatable_nodes_(ForEachUpdatable(*copy_, [](const GraphNode&, const KernelWork&) { return 1; }) != 0) {
  Map(*copy_);
  FindMemory();
}

void GraphExec::Map(const Graph& copy) {
  for (GraphNode* const node : copy.nodes()) {
    own_.emplace(node->origin(), node);
    MapBodies(*node);
  }
}

void GraphExec::MapBodies(const GraphNode& own) {
  const auto* const conditional = std::get_if<ConditionalWork>(&own.work());
  if (conditional == nullptr) return;
  for (const Graph* const body : conditional->bodies) Map(*body);
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
  if (uploaded_to_ != nullptr && uploaded_to_ == &Attachment::Get()) Drop();
  Graph::Destroy(copy_);
}

void GraphExec::Drop() {
  const auto drop = [](uint64_t number) {
    Attachment::Get().ring().Submit(wire::RecordKind::kGraphDrop, 0, wire::GraphDropBody{.graph = number});
    return CUDA_SUCCESS;
  };
  if (for_device()) {
    drop(AddressOf(this));
  } else {
    ForEachUpdatable(*copy_, [&](const GraphNode&, const KernelWork& work) -> int { return drop(work.device_node); });
  }
}

Answer<GraphExec*> GraphExec::Create(Graph& graph, uint64_t flags) {
  CU_TRY_OR_REFUSE(graph.Ordered() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  if (graph.has_unused_condition()) {
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE,
                           "a graph has a conditional handle that no conditional node uses: add the node"));
  }
  if (graph.has_conditionals()) CU_TRY_OR_REFUSE(CheckBodies(graph));
  Graph::Instance instance;
  if (graph.is_single()) {
    CU_ASSIGN_OR_REFUSE(instance, graph.TakeInstance());
  }
  CU_ASSIGN_OR_REFUSE(const bool launches, MayLaunchGraphs(graph));
  const bool for_device = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
  if (for_device) CU_TRY_OR_REFUSE(CheckDeviceGraph(graph).status);
  Graph* const copy = graph.Clone(true);
  if (copy == nullptr) return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
  GraphExec* const exec = pool_.Create(copy, MakePlan(*copy->Ordered()), flags, std::move(instance));
  if (exec == nullptr) {
    Graph::Destroy(copy);
    return Refuse(CUDA_ERROR_OUT_OF_MEMORY);
  }
  exec->may_launch_graphs_ = launches;
  if (!for_device) return exec;
  Context* const context = ContextOf(*copy);
  const int status = context != nullptr ? exec->Upload(*context) : CUDA_ERROR_INVALID_CONTEXT;
  if (status == 0) return exec;
  Destroy(exec);
  return Refuse(status);
}

int GraphExec::Upload(Context& context) {
  if (!for_device() && !has_updatable_nodes_) return CUDA_SUCCESS;
  std::lock_guard lock(launch_mutex_);
  return UploadLocked(context);
}

int GraphExec::UploadLocked(Context& context) {
  Attachment& attachment = Attachment::Get();
  if (!changed_ && uploaded_to_ == &attachment) return CUDA_SUCCESS;
  Context* const own = ContextOf(*copy_);
  Context& at = own != nullptr ? *own : context;
  uploaded_to_ = &attachment;  // part of it, if the rest fails
  device_ = &at.device();
  if (for_device()) {
    CU_ASSIGN(const auto description, Describe(*copy_, [this](const GraphNode* node) { return !Enabled(node); }));
    CU_TRY(Send(at, AddressOf(this), description, 0));
  } else {
    CU_TRY(ForEachUpdatable(*copy_, [&](const GraphNode& node, const KernelWork& work) -> int {
      CU_ASSIGN(const auto description, DescribeNode(work, Enabled(&node)));
      return Send(work.function->context(), work.device_node, description, wire::kGraphIsNode);
    }));
  }
  changed_ = false;
  return CUDA_SUCCESS;
}

int GraphExec::Send(Context& context, uint64_t number, std::span<const uint8_t> description, uint32_t flags) {
  const auto scratch = Staging::Get().Take(context, description.size());
  if (!scratch) return CUDA_ERROR_OUT_OF_MEMORY;
  std::ranges::copy(description, reinterpret_cast<uint8_t*>(scratch->address));
  const wire::GraphUploadBody body{.graph = number,
                                   .address = scratch->address,
                                   .bytes = description.size(),
                                   .device = context.device().index(),
                                   .flags = flags};
  const int status = Attachment::Get().replies().Call(wire::RecordKind::kGraphUpload, body).status;
  Staging::Get().GiveBack(*scratch, {});
  if (status == 0) return CUDA_SUCCESS;
  return Complain(status, "the server does not take a graph that kernels launch or change");
}

int GraphExec::LaunchByServer(Stream& stream) {
  CU_TRY(UploadLocked(stream.context()));
  if (device_ != &stream.context().device())
    return Complain(CUDA_ERROR_INVALID_VALUE, "launch of a graph in a stream of another device");
  stream.WaitFor(last_launch_);
  stream.Submit(wire::RecordKind::kGraphLaunch,
                wire::GraphLaunchBody{.graph = AddressOf(this), .environment = 0, .reserved = 0});
  last_launch_ = stream.LastMark();
  return CUDA_SUCCESS;
}

void GraphExec::Destroy(GraphExec* exec) {
  if (pool_.Retire(exec)) pool_.Delete(exec);
}

// Null if there are too many streams, or if its lane is full of launches from another stream.
Stream* GraphExec::LaneOf(uint32_t number, Stream& stream, uint32_t weight) {
  lanes_.resize(std::max<size_t>(lanes_.size(), number + 1));
  Lane& lane = lanes_[number];
  Stream* const kept = lane.Find();
  if (kept != nullptr && &kept->context() == &stream.context() && kept->priority() == stream.priority())
    return kept->RoomAfter(weight).Reached() ? kept : nullptr;
  if (kept != nullptr) Stream::Destroy(kept);
  Stream* const made = Stream::Create(
      stream.context(), {.non_blocking = true, .never_blocks = all_lanes_own_, .priority = stream.priority()});
  lane = {made, made != nullptr ? made->id() : 0};
  return made;
}

// The streams of a launch, which begin after what is in `stream`. Without a lane of its own a branch runs in `stream`;
// if all lanes are to be the graph's own, OUT_OF_MEMORY.
int GraphExec::EnterLanes(Stream& stream, uint32_t weight, std::vector<Stream*>* lanes) {
  if (!all_lanes_own_) lanes->push_back(&stream);
  if (!lanes->empty() && plan_.lanes <= 1) return CUDA_SUCCESS;
  const StreamMark begin = stream.FullMark();
  for (uint32_t number = 0; lanes->size() < std::max(plan_.lanes, 1u); ++number) {
    Stream* const lane = LaneOf(number, stream, weight);
    if (lane == nullptr && all_lanes_own_) return CUDA_ERROR_OUT_OF_MEMORY;
    lanes->push_back(lane != nullptr ? lane : &stream);
    lanes->back()->WaitFor(begin);
  }
  return CUDA_SUCCESS;
}

void GraphExec::SetConditions(std::span<Stream* const> lanes) const {
  if (!all_lanes_own_) return;
  for (const Condition* const condition : ConditionsOf(*copy_)) {
    const auto value = condition->launch_value();
    if (value) {
      lanes[0]->Submit(wire::RecordKind::kConditionSet,
                       wire::ConditionSetBody{.condition = condition->number(), .value = *value, .reserved = 0});
    }
  }
  const StreamMark set = lanes[0]->LastMark();
  for (Stream* const lane : lanes) lane->WaitFor(set);
}

// An upper bound over all lanes.
uint32_t GraphExec::LaunchWeight() const {
  uint32_t weight = 2 * plan_.lanes + 2;
  for (const GraphPlan::Step& step : plan_.steps)
    weight += static_cast<uint32_t>(step.after.size()) + Weight(step.node->work());
  return weight;
}

// The position to wait for so that a launch will not block. Lanes full of launches from this stream get room as the
// stream does.
StreamMark GraphExec::RoomAfter(Stream& stream, uint32_t weight) const {
  const StreamMark room = stream.RoomAfter(weight);
  if (!room.Reached() || (last_launch_.slot != stream.slot() && !all_lanes_own_)) return room;
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
  if (for_device()) return LaunchByServer(stream);
  if (has_updatable_nodes_) CU_TRY(UploadLocked(stream.context()));
  if (all_lanes_own_) CU_TRY(CheckBodies(*copy_, &stream));
  const uint32_t environment = may_launch_graphs_ ? NewEnvironment() : 0;
  std::vector<GraphAllocation::Handle> begun;
  if (has_memory_nodes()) {
    CU_ASSIGN(begun, GraphAllocation::Take(memory_, (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0));
  }
  stream.WaitFor(last_launch_);
  std::vector<Stream*> lanes;
  int status = EnterLanes(stream, weight, &lanes);
  if (status == 0) {
    SetConditions(lanes);
    status = RunSteps(lanes, environment);
  }
  if (status != 0) GraphAllocation::Undo(begun);
  for (const Stream* const lane : lanes) stream.WaitFor(lane->LastMark());
  if (environment != 0) {
    stream.Submit(wire::RecordKind::kEnvironmentEnd,
                  wire::EnvironmentEndBody{.environment = environment, .reserved = 0});
  }
  last_launch_ = stream.LastMark();
  return status;
}

int GraphExec::RunSteps(std::span<Stream* const> lanes, uint32_t environment) const {
  std::vector<StreamMark> done(plan_.lanes > 1 ? plan_.steps.size() : 0);
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const GraphPlan::Step& step = plan_.steps[i];
    Stream& lane = *lanes[step.lane];
    for (const uint32_t earlier : step.after) lane.WaitFor(done[earlier]);
    // What kernels change they may enable, too.
    const auto* const kernel = step.node->As<KernelWork>();
    if (Enabled(step.node) || (kernel != nullptr && kernel->device_node != 0))
      CU_TRY(Run(step.node->work(), lane, environment));
    if (!done.empty()) done[i] = lane.LastMark();
  }
  return CUDA_SUCCESS;
}

GraphNode* GraphExec::Own(const GraphNode* node) const {
  const auto found = own_.find(node);
  return found != own_.end() ? found->second : nullptr;
}

void GraphExec::Enable(const GraphNode* own, bool enabled) {
  Changed();
  if (enabled) {
    disabled_.erase(own);
  } else {
    disabled_.insert(own);
  }
}

// Nodes are matched in order of creation, as the driver does for repeated captures; their dependencies must match as
// well, and so must the bodies of conditional nodes.
GraphExec::Difference GraphExec::Compare(const Graph& own, const Graph& other) {
  const auto& theirs = other.nodes();
  const auto& ours = own.nodes();
  if (theirs.size() != ours.size()) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr};
  std::map<const GraphNode*, const GraphNode*> matching;
  for (size_t i = 0; i < theirs.size(); ++i) matching.emplace(theirs[i], ours[i]);
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i]->type() != ours[i]->type()) return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, theirs[i]};
    std::set<const GraphNode*> before(ours[i]->before().begin(), ours[i]->before().end());
    bool same = before.size() == theirs[i]->before().size();
    for (const GraphNode* const earlier : theirs[i]->before()) same = same && before.contains(matching.at(earlier));
    if (!same) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, theirs[i]};
    if (!MayBecome(ours[i]->work(), theirs[i]->work()))
      return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, theirs[i]};
    const auto* const conditional = std::get_if<ConditionalWork>(&ours[i]->work());
    if (conditional == nullptr) continue;
    const auto& bodies = std::get<ConditionalWork>(theirs[i]->work()).bodies;
    for (size_t b = 0; b < bodies.size(); ++b) {
      const Difference difference = Compare(*conditional->bodies[b], *bodies[b]);
      if (difference.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return difference;
    }
  }
  return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr};
}

// A graph with conditional or memory nodes then has this one as its executable graph, and the former graph has none.
GraphExec::Difference GraphExec::Update(Graph& graph) {
  if (has_updatable_nodes_ || graph.has_updatable_nodes()) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, nullptr};
  const Difference difference = Compare(*copy_, graph);
  if (difference.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return difference;
  if (all_lanes_own_ && (graph.has_unused_condition() || CheckBodies(graph) != 0))
    return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, nullptr};
  const auto launches = MayLaunchGraphs(graph);
  if (!launches || (*launches && !may_launch_graphs_)) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, nullptr};
  if (for_device()) {
    const DeviceGraphFault fault = CheckDeviceGraph(graph);
    if (fault.status != 0) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, fault.node};
  }
  Changed();
  if (instance_ != nullptr && !graph.Has(instance_)) {
    auto taken = graph.TakeInstance();
    if (!taken) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, nullptr};
    instance_ = std::move(*taken);
  }
  const auto& theirs = graph.nodes();
  const auto& ours = copy_->nodes();
  own_.clear();
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (!ours[i]->Become(theirs[i]->work())) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, theirs[i]};
    own_.emplace(theirs[i], ours[i]);
    MapBodies(*ours[i]);
  }
  FindMemory();
  return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr};
}

}  // namespace tutti::client
