// Graphs that kernels launch: what clients have uploaded, and their runs.
//
// A run is a child without blocks of its own (cpu_space_children.cc). Its nodes are its children, and so is what their
// kernels launch to be forgotten; what they launch at its tail takes its place among its parent's children. So a run is
// what CUDA calls an environment, and is over when all in it is.
//
// A graph that the client launches itself runs as the only child of its record. One that is no graph of the device's,
// but has kernels that launch such, is many records: the launches name an environment by number, which is made when one
// of their kernels launches a graph, and whose end is a record. It is two operations: the inner one stands for the
// graph, the outer one for what the record that ends it waits for, siblings of the graph among them.
//
// All of a run is allocated before it begins, so nothing can be lacking in its middle. A graph that kernels have
// launched cannot be launched by others until it is over: so runs are no more than graphs, however deep they are.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "cuda/result.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/exec/device_limits.h"

namespace tutti::device::cpu {
namespace {

using guest::RuntimeCall;
using guest::RuntimeError;
using Role = CpuOperation::Role;

// cuda_device_runtime_api.h, cudaStreamGraphTailLaunch and so on: what kernels name as the stream.
constexpr uint64_t kAtTail = uint64_t{1} << 56, kForget = uint64_t{2} << 56, kForgetAsSibling = uint64_t{3} << 56;
constexpr size_t kMostEnvironments = 4096;  // of a client, whose launches have launched graphs and are not over

uint64_t BytesOf(const std::vector<wire::GraphNode>& nodes) {
  uint64_t bytes = sizeof(DeviceGraph);
  for (const wire::GraphNode& node : nodes)
    bytes += sizeof(DeviceGraph::Node) + sizeof(UpdatableNode) + 2 * node.arguments.size() +
             2 * sizeof(uint32_t) * node.before.size();
  return bytes;
}

}  // namespace

Status CpuSpace::UploadGraph(uint32_t device, uint64_t number, std::vector<wire::GraphNode> nodes, bool is_node) {
  if (is_node && (nodes.size() != 1 || nodes[0].device_node == 0))
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a graph that is said to be one node");
  HostHold hold(host_.get(), BytesOf(nodes));
  if (!hold) return tutti::Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the client has no host memory left for a graph");
  auto graph = std::make_shared<DeviceGraph>();
  graph->number = number;
  graph->device = device;
  graph->is_node = is_node;
  graph->hold = std::move(hold);
  graph->nodes.resize(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (const uint32_t earlier : nodes[i].before) graph->nodes[earlier].after.push_back(i);
    if (nodes[i].kind == wire::RecordKind::kLaunch) {
      const auto kernel = modules_.Keep(nodes[i].launch.kernel);
      if (kernel == nullptr || kernel->module->device != device)
        return tutti::Fail(cuda::CUDA_ERROR_INVALID_HANDLE, "a graph with an unknown kernel");
    }
    if (nodes[i].device_node != 0 || !nodes[i].enabled) {
      auto updatable = std::make_shared<UpdatableNode>();
      updatable->device = device;
      std::copy_n(nodes[i].launch.grid, 3, updatable->grid);
      updatable->enabled = nodes[i].enabled;
      updatable->arguments = nodes[i].arguments;
      graph->nodes[i].updatable = std::move(updatable);
    }
    graph->nodes[i].work = std::move(nodes[i]);
  }
  std::shared_ptr<const DeviceGraph> replaced;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  auto& held = graphs_[number];
  if (held == nullptr && graphs_.size() > wire::kMostGraphs) {
    graphs_.erase(number);
    return tutti::Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                       fmt::format("the client has {} graphs already", wire::kMostGraphs));
  }
  if (held != nullptr) ForgetNodes(*held);
  for (const DeviceGraph::Node& node : graph->nodes) {
    if (node.work.device_node != 0) updatable_nodes_[node.work.device_node] = node.updatable;
  }
  graph->launches = held != nullptr ? held->launches : std::make_shared<DeviceGraph::Launches>();
  replaced = std::exchange(held, std::move(graph));
  return {};
}

void CpuSpace::DropGraph(uint64_t graph) {
  std::shared_ptr<const DeviceGraph> dropped;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  ForgetNodes(*found->second);
  dropped = std::move(found->second);
  graphs_.erase(found);
}

void CpuSpace::ForgetNodes(const DeviceGraph& graph) {
  for (const DeviceGraph::Node& node : graph.nodes) {
    const auto found = updatable_nodes_.find(node.work.device_node);
    if (found != updatable_nodes_.end() && found->second == node.updatable) updatable_nodes_.erase(found);
  }
}

RuntimeError CpuSpace::UpdateNode(Part* part, const RuntimeCall& call) {
  const auto& w = call.words;
  const auto found = updatable_nodes_.find(w[0]);
  if (found == updatable_nodes_.end() || found->second->device != part->ordinal) return RuntimeError::kInvalidValue;
  UpdatableNode& node = *found->second;
  switch (call.function) {
    case guest::RuntimeFunction::kGraphNodeSetEnabled: node.enabled = (w[1] & 0xff) != 0; return RuntimeError::kNone;
    case guest::RuntimeFunction::kGraphNodeSetGrid: {
      const uint32_t grid[] = {static_cast<uint32_t>(w[1]), static_cast<uint32_t>(w[1] >> 32),
                               static_cast<uint32_t>(w[2])};
      for (int i = 0; i < 3; ++i) {
        if (grid[i] == 0 || grid[i] > kMaxGrid[i]) return RuntimeError::kInvalidValue;
      }
      std::copy_n(grid, 3, node.grid);
      return RuntimeError::kNone;
    }
    default: break;
  }
  const uint64_t offset = w[1], bytes = w[2], left = w[3];
  if (bytes > guest::kMostUpdateBytes || bytes > left || !InRange<uint64_t>(offset, left, node.arguments.size()))
    return RuntimeError::kInvalidValue;
  if (bytes != 0) std::memcpy(node.arguments.data() + offset, &w[4], bytes);
  return RuntimeError::kNone;
}

Status CpuSpace::SubmitGraphRecord(uint32_t stream_number, uint64_t ticket,
                                   const std::function<void(CpuOperation*, Stream*)>& fill) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(CpuOperation* const record, NewTask(ticket, *stream));
  record->task.total_blocks = 0;
  fill(record, stream);
  engine_.Enqueue(stream, record);
  UnlockAndRunDeferred(&lock);
  return {};
}

// What it runs is what has been uploaded by now.
Status CpuSpace::LaunchGraph(uint32_t stream_number, uint64_t ticket, uint64_t graph, uint32_t environment) {
  return SubmitGraphRecord(stream_number, ticket, [this, graph, environment](CpuOperation* record, Stream* stream) {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end() || found->second->device != stream->device) {
      return FailLocked(stream->device, {.status = cuda::CUDA_ERROR_INVALID_HANDLE,
                                         .report = fmt::format("launch of the graph {:#x}, which is none of device {}",
                                                               graph, stream->device)});
    }
    record->role = Role::kGraphLaunch;
    record->environment = environment;
    record->graph = found->second;
  });
}

Status CpuSpace::EndEnvironment(uint32_t stream_number, uint64_t ticket, uint32_t environment) {
  return SubmitGraphRecord(stream_number, ticket, [environment](CpuOperation* record, Stream*) {
    record->role = Role::kEnvironmentEnd;
    record->environment = environment;
  });
}

// Records that have begun while the engine was busy with their streams.
void CpuSpace::BeginFamilies() {
  while (!begun_.empty()) [[unlikely]] {
    CpuOperation* const record = begun_.back();
    begun_.pop_back();
    Part* const part = PartOf(record->task);
    ChildOrder::Ready ready;
    if (record->role == Role::kGraphLaunch) {
      BeginGraph(record, &ready);
    } else {
      const auto found = environments_.find({part->ordinal, record->environment});
      if (found == environments_.end()) {
        engine_.TaskDone(record, false);
      } else {
        CpuOperation* const inner = found->second;
        environments_.erase(found);
        EndEnvironment(part, inner, record, &ready);
      }
    }
    StartChildren(part, &ready);
  }
}

void CpuSpace::BeginGraph(CpuOperation* record, ChildOrder::Ready* ready) {
  Part* const part = PartOf(record->task);
  std::unique_ptr<CpuOperation> run;
  const RuntimeError error = part->error == 0 ? MakeRun(part, *record, record->graph, &run) : RuntimeError::kNone;
  if (error != RuntimeError::kNone) {
    FailLocked(part->ordinal, error == RuntimeError::kInvalidResourceHandle
                                  ? Fault{.status = cuda::CUDA_ERROR_INVALID_HANDLE,
                                          .report = "launch of a graph with a kernel whose module has been unloaded"}
                              : error == RuntimeError::kInvalidValue
                                  ? Fault{.status = cuda::CUDA_ERROR_ILLEGAL_ADDRESS,
                                          .report = "launch of a graph with a copy or fill of illegal addresses"}
                                  : Fault{.status = cuda::CUDA_ERROR_OUT_OF_MEMORY,
                                          .report = "launch of a graph: the client has no host memory left for it"});
  }
  if (run == nullptr) return engine_.TaskDone(record, false);
  record->children = std::make_unique<ChildOrder>(&part->pending);
  record->blocks_over = true;
  run->parent = record;
  record->children->Launch(record->children->StreamOfItsOwn(), run.release(), ready);
}

// `record` completes with all of it; null: the device has failed.
void CpuSpace::EndEnvironment(Part* part, CpuOperation* inner, CpuOperation* record, ChildOrder::Ready* ready) {
  inner->parent->end = record;
  inner->parent->blocks_over = true;
  EndBlocks(part, inner, ready);
}

void CpuSpace::DropEnvironments(Part* part) {
  ChildOrder::Ready ready;
  for (auto at = environments_.lower_bound({part->ordinal, 0});
       at != environments_.end() && at->first.first == part->ordinal;
       at = environments_.lower_bound({part->ordinal, 0})) {
    CpuOperation* const inner = at->second;
    environments_.erase(at);
    EndEnvironment(part, inner, nullptr, &ready);
  }
  StartChildren(part, &ready);
}

// Of a kernel's launch of graphs; null if it is in no graph, or there is no memory for it.
CpuOperation* CpuSpace::EnvironmentOf(Part* part, CpuOperation* from) {
  if (from->role == Role::kNode) {
    if (!from->parent->run->graph->is_node) return from->parent;
    from = from->parent->parent;  // the record
  }
  if (from->parent != nullptr || from->environment == 0) return nullptr;
  const auto found = environments_.find({part->ordinal, from->environment});
  if (found != environments_.end()) return found->second;
  auto outer = NewChild(part, *from, 0), inner = NewChild(part, *from, 0);
  if (outer == nullptr || inner == nullptr || environments_.size() >= kMostEnvironments) return nullptr;
  for (CpuOperation* const operation : {outer.get(), inner.get()}) {
    operation->role = Role::kEnvironment;
    operation->children = std::make_unique<ChildOrder>(&part->pending);
  }
  inner->parent = outer.get();
  ChildOrder::Ready begins;  // and has nothing to do
  outer->children->Launch(outer->children->StreamOfItsOwn(), inner.get(), &begins);
  environments_.emplace(std::pair(part->ordinal, from->environment), inner.get());
  (void)outer.release();  // the end of the environment has it
  return inner.release();
}

RuntimeError CpuSpace::LaunchGraphByKernel(Part* part, CpuOperation* from, const RuntimeCall& call,
                                           ChildOrder::Ready* ready) {
  const uint64_t mode = call.words[1];
  const auto found = graphs_.find(call.words[0]);
  if (mode != kAtTail && mode != kForget && mode != kForgetAsSibling) return RuntimeError::kInvalidValue;
  if (found == graphs_.end() || found->second->device != part->ordinal || found->second->is_node)
    return RuntimeError::kInvalidValue;
  CpuOperation* const environment = EnvironmentOf(part, from);
  if (environment == nullptr) return RuntimeError::kInvalidValue;
  const std::shared_ptr<const DeviceGraph> graph = found->second;
  DeviceGraph::Launches& launches = *graph->launches;
  const bool at_tail = mode == kAtTail;
  const bool itself = at_tail && environment->run != nullptr && environment->run->by_kernel &&
                      environment->run->graph->launches == graph->launches;
  if (launches.pending && (!itself || launches.again)) return RuntimeError::kInvalidValue;
  if (at_tail ? environment->children->at_tail() >= GraphRun::kMostAtTail
              : environment->forgotten >= GraphRun::kMostForgotten)
    return RuntimeError::kLaunchPendingCountExceeded;
  std::unique_ptr<CpuOperation> run;
  if (const RuntimeError error = MakeRun(part, *from, graph, &run); error != RuntimeError::kNone) return error;
  run->run->by_kernel = true;
  (itself ? launches.again : launches.pending) = true;
  run->parent = mode == kForget ? environment : environment->parent;
  if (at_tail) {
    environment->children->LaunchAtTail(run.release());
    return RuntimeError::kNone;
  }
  ++environment->forgotten;
  ChildOrder& order = *run->parent->children;
  order.Launch(order.StreamOfItsOwn(), run.release(), ready);
  return RuntimeError::kNone;
}

RuntimeError CpuSpace::MakeRun(Part* part, const CpuOperation& from, const std::shared_ptr<const DeviceGraph>& graph,
                               std::unique_ptr<CpuOperation>* out) {
  auto run = NewChild(part, from, graph->nodes.size() * (sizeof(uint32_t) + sizeof(void*)));
  if (run == nullptr) return RuntimeError::kLaunchOutOfResources;
  run->role = Role::kRun;
  run->run = std::make_unique<GraphRun>();
  run->run->graph = graph;
  for (uint32_t i = 0; i < graph->nodes.size(); ++i) {
    const wire::GraphNode& work = graph->nodes[i].work;
    run->run->waits_for.push_back(static_cast<uint32_t>(work.before.size()));
    std::unique_ptr<CpuOperation> node;
    if (work.kind != wire::RecordKind::kMarker) {
      if (const RuntimeError error = MakeNode(part, from, work, &node); error != RuntimeError::kNone) return error;
    }
    if (node != nullptr) {
      node->node = i;
      node->parent = run.get();
    }
    run->run->nodes.push_back(std::move(node));
  }
  *out = std::move(run);
  return RuntimeError::kNone;
}

RuntimeError CpuSpace::MakeNode(Part* part, const CpuOperation& from, const wire::GraphNode& work,
                                std::unique_ptr<CpuOperation>* out) {
  auto node = NewChild(part, from, work.arguments.size());
  if (node == nullptr) return RuntimeError::kLaunchOutOfResources;
  node->role = Role::kNode;
  if (work.kind == wire::RecordKind::kLaunch) {
    node->kept = modules_.Keep(work.launch.kernel);
    if (node->kept == nullptr) return RuntimeError::kInvalidResourceHandle;
    node->shape = {.kernel = node->kept->number, .dynamic_shared_bytes = work.launch.dynamic_shared_bytes};
    std::copy_n(work.launch.grid, 3, node->shape.grid);
    std::copy_n(work.launch.block, 3, node->shape.block);
    node->arguments = work.arguments;
    node->task.is_kernel = true;
  } else {
    Transfer& transfer = node->task.transfer;
    uint64_t bad = 0;
    const bool valid = work.kind == wire::RecordKind::kCopy
                           ? transfer.SetCopy(work.copy, memory_.base(), memory_.bytes(), &bad)
                           : transfer.SetFill(work.fill, memory_.base(), memory_.bytes(), &bad);
    if (!valid || !WriteConstants(&transfer)) return RuntimeError::kInvalidValue;
    node->task.total_blocks = transfer.pieces();
    if (node->task.total_blocks == 0) return RuntimeError::kNone;  // a joint
    counters_[part->ordinal].AddAlone(metrics::Counter::copied_bytes, transfer.total_bytes());
  }
  *out = std::move(node);
  return RuntimeError::kNone;
}

void CpuSpace::BeginRun(Part* part, CpuOperation* run, ChildOrder::Ready* ready) {
  run->children = std::make_unique<ChildOrder>(&part->pending);
  if (part->error == 0) {
    std::vector<uint32_t> joints;
    for (uint32_t i = 0; i < run->run->nodes.size(); ++i) {
      if (run->run->waits_for[i] != 0) continue;
      if (run->run->nodes[i] == nullptr) {
        joints.push_back(i);
      } else {
        run->children->Launch(run->children->StreamOfItsOwn(), run->run->nodes[i].release(), ready);
      }
    }
    BeginNodes(run, std::move(joints), ready);
  }
  run->blocks_over = true;
  if (run->children->empty()) EndBlocks(part, run, ready);
}

// What waits for no others than those that are over.
void CpuSpace::BeginNodes(CpuOperation* run, std::vector<uint32_t> over, ChildOrder::Ready* ready) {
  GraphRun& state = *run->run;
  while (!over.empty()) {
    const uint32_t done = over.back();
    over.pop_back();
    for (const uint32_t next : state.graph->nodes[done].after) {
      if (--state.waits_for[next] != 0) continue;
      if (state.nodes[next] == nullptr) {
        over.push_back(next);
      } else {
        run->children->Launch(run->children->StreamOfItsOwn(), state.nodes[next].release(), ready);
      }
    }
  }
}

void CpuSpace::RunOver(CpuOperation* run) {
  DeviceGraph::Launches& launches = *run->run->graph->launches;
  if (run->run->by_kernel) launches.pending = std::exchange(launches.again, false);
}

}  // namespace tutti::device::cpu
