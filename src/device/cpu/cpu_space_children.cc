// What kernels launch: grids, copies and fills, in the streams of the grid that launches them (children/child_order.h).
//
// A grid is over when its blocks are, and all that it has launched. A client's record completes with the grid that it
// is: nobody waits for a child but the order of streams, so no SM ever stands still for one. Children run like the
// client's own grids: by its limits, in the order and context of the record that their family began with.
//
// Everything that a kernel says is the client's to choose, and is looked up or checked here. What it may have launched
// at once is bounded by a limit of the context and, since the client sets that, by its host memory.
//
// The code of a child may not be there: a thread of the Space's own fetches it, and the child waits for that.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/result.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/exec/device_limits.h"
#include "device/cpu/schedule/sm_thread.h"

namespace tutti::device::cpu {
namespace {

using guest::RuntimeCall;
using guest::RuntimeError;
using guest::RuntimeFunction;

constexpr uint32_t kMaxPortableClusterBlocks = 8;  // CUDA C++ programming guide, thread block clusters
constexpr uint32_t kMostDepth = 24;  // CUDA C++ programming guide, dynamic parallelism: nesting depth
constexpr uint64_t kMarkerBytes = 256;  // about, of host memory: a stream, an event, or a marker in a stream

// The values of CUDA's named streams, and of flags that streams and events must be made with.
constexpr uint64_t kNullStream = 0, kLegacyStream = 1, kPerThreadStream = 2, kTailLaunch = 3, kFireAndForget = 4;
constexpr uint32_t kNonBlocking = 1, kDisableTiming = 2;

void ReadExtent(const RuntimeCall& call, uint32_t word, uint32_t extent[3]) {
  extent[0] = static_cast<uint32_t>(call.words[word]);
  extent[1] = static_cast<uint32_t>(call.words[word] >> 32);
  extent[2] = static_cast<uint32_t>(call.words[word + 1]);
}

ChildShape ShapeAt(const RuntimeCall& call, uint32_t kernel, uint32_t word) {
  ChildShape shape{.kernel = kernel};
  ReadExtent(call, word, shape.grid);
  ReadExtent(call, word + 2, shape.block);
  shape.dynamic_shared_bytes = static_cast<uint32_t>(call.words[word + 4]);
  return shape;
}

// A launch names no clusters: they are those that the kernel was compiled for, of a size that needs no permission.
RuntimeError CheckCluster(const ChildShape& shape, const module::KernelInfo& info) {
  if (info.required_cluster[0] == 0)
    return info.cluster_must_be_set ? RuntimeError::kInvalidConfiguration : RuntimeError::kNone;
  uint64_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    const uint32_t extent = std::max(info.required_cluster[i], 1u);
    blocks *= std::min(extent, kMaxPortableClusterBlocks + 1);
    if (shape.grid[i] % extent != 0) return RuntimeError::kInvalidConfiguration;
  }
  return blocks <= kMaxPortableClusterBlocks ? RuntimeError::kNone : RuntimeError::kInvalidConfiguration;
}

RuntimeError Check(const ChildShape& shape, const module::KernelInfo& info) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.grid[i] > kMaxGrid[i] || shape.block[i] == 0 || shape.block[i] > kMaxBlock[i])
      return RuntimeError::kInvalidConfiguration;
    if (info.required_block[i] != 0 && info.required_block[i] != shape.block[i])
      return RuntimeError::kInvalidConfiguration;
    threads *= shape.block[i];
  }
  if (threads > kMaxThreadsPerBlock) return RuntimeError::kInvalidConfiguration;
  if (const RuntimeError error = CheckCluster(shape, info); error != RuntimeError::kNone) return error;
  const bool fits = threads <= info.max_threads &&
                    uint64_t{shape.dynamic_shared_bytes} + info.static_shared_bytes <= kSharedBytesOptIn;
  return fits ? RuntimeError::kNone : RuntimeError::kLaunchOutOfResources;
}

// As CUDA does not let rows overlap.
bool HasPitches(const wire::CopyBody& copy) {
  const uint64_t rows = copy.rows > 1 || copy.planes > 1 ? copy.row_bytes : 0;
  return copy.destination_pitch >= rows && copy.source_pitch >= rows;
}
bool HasPitch(const wire::FillBody& fill) { return fill.height <= 1 || fill.pitch >= fill.width; }

bool SameCode(const ChildShape& a, const ChildShape& b) {
  return a.kernel == b.kernel && std::equal(a.block, a.block + 3, b.block);
}

wire::CopyBody CopyOf(const RuntimeCall& call) {
  const auto& w = call.words;
  switch (call.function) {
    case RuntimeFunction::kMemcpy:
      return {.destination = w[0], .source = w[1], .row_bytes = w[2], .rows = 1, .planes = 1};
    case RuntimeFunction::kMemcpy2D:
      return {.destination = w[0],
              .source = w[2],
              .row_bytes = w[4],
              .rows = w[5],
              .planes = 1,
              .destination_pitch = w[1],
              .source_pitch = w[3]};
    default: break;
  }
  // cudaMemcpy3DParms: two times an array, a position and a pitched pointer; the extent; the kind.
  const auto address = [&w](uint32_t at) {
    return w[at + 4] + w[at + 1] + w[at + 2] * w[at + 5] + w[at + 3] * w[at + 5] * w[at + 7];
  };
  return {.destination = address(8),
          .source = address(0),
          .row_bytes = w[16],
          .rows = w[17],
          .planes = w[18],
          .destination_pitch = w[13],
          .source_pitch = w[5],
          .destination_plane = w[13] * w[15],
          .source_plane = w[5] * w[7]};
}

wire::FillBody FillOf(const RuntimeCall& call) {
  const auto& w = call.words;
  switch (call.function) {
    case RuntimeFunction::kMemset:
      return {.destination = w[0], .width = w[2], .height = 1, .value = w[1] & 0xff, .element_bytes = 1};
    case RuntimeFunction::kMemset2D:
      return {
          .destination = w[0], .width = w[3], .height = w[4], .pitch = w[1], .value = w[2] & 0xff, .element_bytes = 1};
    default: break;
  }
  return {.destination = w[0], .width = w[5], .height = w[6], .pitch = w[1], .value = w[4] & 0xff, .element_bytes = 1};
}

std::string LauncherOf(const CpuOperation& child) {
  return child.kept != nullptr ? fmt::format("launch of the graph's kernel {}", *child.kept->name)
                               : fmt::format("launch by the kernel {}", *child.launcher);
}

}  // namespace

CpuSpace::Part* CpuSpace::PartOf(const Task& task) const {
  return std::ranges::find_if(parts_, [&task](const auto& part) { return &part->share == task.share; })->get();
}

// The SM is busy with the block that calls: what that launches is for others.
void CpuSpace::CallLaunching(Part* part, CpuOperation* from, RuntimeCall* call) {
  const SmAbsence absence;
  std::unique_lock lock(mutex_);
  ChildOrder::Ready ready;
  if (part->error != 0) {
    call->error = RuntimeError::kLaunchFailure;
  } else if (call->function == RuntimeFunction::kGraphLaunch) {
    call->error = LaunchGraphByKernel(part, from, *call, &ready);
    StartChildren(part, &ready);
  } else if (call->function == RuntimeFunction::kGraphNodeSetEnabled ||
             call->function == RuntimeFunction::kGraphNodeSetGrid ||
             call->function == RuntimeFunction::kGraphNodeSetBytes) {
    call->error = UpdateNode(part, *call);
  } else if (from->role == CpuOperation::Role::kNode && !from->parent->run->graph->is_node) {
    call->error = RuntimeError::kNotSupported;  // as in CUDA: its kernels launch graphs alone
  } else {
    if (from->children == nullptr) from->children = std::make_unique<ChildOrder>(&part->pending);
    switch (call->function) {
      case RuntimeFunction::kGetParameterBuffer:
      case RuntimeFunction::kGetParameterBufferV2: call->error = TakeBuffer(part, from, call); break;
      case RuntimeFunction::kLaunchDevice:
      case RuntimeFunction::kLaunchDeviceV2: call->error = LaunchChild(part, from, *call, &ready); break;
      case RuntimeFunction::kMemcpy:
      case RuntimeFunction::kMemcpy2D:
      case RuntimeFunction::kMemcpy3D:
      case RuntimeFunction::kMemset:
      case RuntimeFunction::kMemset2D:
      case RuntimeFunction::kMemset3D: call->error = TransferByChild(part, from, *call, &ready); break;
      default: call->error = UseStream(part, from, call, &ready); break;
    }
    StartChildren(part, &ready);
  }
  UnlockAndRunDeferred(&lock);
}

RuntimeError CpuSpace::TakeBuffer(Part* part, CpuOperation* from, RuntimeCall* call) {
  const module::ModuleIndex& index = *from->kernel->module->index;
  uint64_t bytes = 0;
  std::optional<ChildShape> shape;
  if (call->function == RuntimeFunction::kGetParameterBuffer) {
    bytes = call->words[1];  // at any alignment that a parameter has: buffers begin on 64 bytes
    if (call->words[0] > 64 || bytes > ParameterBuffers::kMostBytes) return RuntimeError::kInvalidValue;
  } else {
    const auto kernel = from->kernel->module->KernelAt(call->words[0]);
    if (!kernel) return RuntimeError::kInvalidDeviceFunction;
    shape = ShapeAt(*call, *kernel, 1);
    bytes = index.kernels[*kernel].param_bytes;
    if (const RuntimeError error = Check(*shape, index.kernels[*kernel]); error != RuntimeError::kNone) return error;
  }
  if (!part->MayLaunchMore()) return RuntimeError::kLaunchPendingCountExceeded;
  call->address = part->buffers.Take(from, bytes, shape);
  if (call->address == 0) return RuntimeError::kMemoryAllocation;
  ++from->open_buffers;
  return RuntimeError::kNone;
}

RuntimeError CpuSpace::LaunchChild(Part* part, CpuOperation* from, const RuntimeCall& call, ChildOrder::Ready* ready) {
  const bool names_shape = call.function == RuntimeFunction::kLaunchDevice;
  const uint64_t address = call.words[names_shape ? 1 : 0], stream = call.words[names_shape ? 7 : 1];
  const ParameterBuffers::Buffer* const buffer = part->buffers.Find(from, address);
  if (buffer == nullptr || buffer->shape.has_value() == names_shape) return RuntimeError::kInvalidValue;
  const uint64_t bytes = buffer->bytes;
  ChildShape shape;
  RuntimeError error = RuntimeError::kNone;
  if (!names_shape) {
    shape = *buffer->shape;
  } else if (const auto kernel = from->kernel->module->KernelAt(call.words[0])) {
    const module::KernelInfo& info = from->kernel->module->index->kernels[*kernel];
    shape = ShapeAt(call, *kernel, 2);
    error = bytes < info.param_bytes ? RuntimeError::kInvalidValue : Check(shape, info);
  } else {
    error = RuntimeError::kInvalidDeviceFunction;
  }
  std::unique_ptr<CpuOperation> child;
  if (error == RuntimeError::kNone) {
    child = NewChild(part, *from, bytes);
    if (child == nullptr) error = RuntimeError::kLaunchOutOfResources;
  }
  if (child != nullptr) {
    const auto* const parameters = reinterpret_cast<const uint8_t*>(address);
    child->arguments.assign(parameters, parameters + bytes);
    child->shape = shape;
    child->task.is_kernel = true;
    child->module = from->kernel->module;
    child->launcher = from->kernel->name;
  }
  part->buffers.Give(address);
  --from->open_buffers;
  return child != nullptr ? Place(from, std::move(child), call, stream, ready) : error;
}

RuntimeError CpuSpace::TransferByChild(Part* part, CpuOperation* from, const RuntimeCall& call,
                                       ChildOrder::Ready* ready) {
  const auto& w = call.words;
  const bool is_copy = call.function == RuntimeFunction::kMemcpy || call.function == RuntimeFunction::kMemcpy2D ||
                       call.function == RuntimeFunction::kMemcpy3D;
  uint64_t stream = 0, fills = 1;
  switch (call.function) {
    case RuntimeFunction::kMemcpy: stream = w[4]; break;
    case RuntimeFunction::kMemcpy2D: stream = w[7]; break;
    case RuntimeFunction::kMemcpy3D:
      stream = w[20];
      if (w[0] != 0 || w[8] != 0) return RuntimeError::kNotSupported;  // arrays
      break;
    case RuntimeFunction::kMemset: stream = w[3]; break;
    case RuntimeFunction::kMemset2D: stream = w[5]; break;
    default:
      stream = w[8];
      fills = w[7];
      break;
  }
  wire::FillBody fill = is_copy ? wire::FillBody{} : FillOf(call);
  if (is_copy ? !HasPitches(CopyOf(call)) : !HasPitch(fill)) return RuntimeError::kInvalidPitchValue;
  for (uint64_t i = 0; i < fills; ++i) {
    if (!part->MayLaunchMore()) return RuntimeError::kLaunchPendingCountExceeded;
    std::unique_ptr<CpuOperation> child = NewChild(part, *from, 0);
    if (child == nullptr) return RuntimeError::kLaunchOutOfResources;
    Transfer& transfer = child->task.transfer;
    uint64_t bad = 0;
    const bool valid = is_copy ? transfer.SetCopy(CopyOf(call), memory_.base(), memory_.bytes(), &bad)
                               : transfer.SetFill(fill, memory_.base(), memory_.bytes(), &bad);
    if (!valid || !WriteConstants(&transfer)) return RuntimeError::kInvalidValue;
    fill.destination += w[1] * w[3];
    child->task.total_blocks = transfer.pieces();
    if (child->task.total_blocks == 0) return RuntimeError::kNone;
    counters_[part->ordinal].AddAlone(metrics::Counter::copied_bytes, transfer.total_bytes());
    const RuntimeError error = Place(from, std::move(child), call, stream, ready);
    if (error != RuntimeError::kNone) return error;
  }
  return RuntimeError::kNone;
}

// Null if the client has no memory for it.
std::unique_ptr<CpuOperation> CpuSpace::NewChild(Part* part, const CpuOperation& from, uint64_t argument_bytes) {
  HostHold hold(host_.get(), sizeof(CpuOperation) + argument_bytes + kMarkerBytes);
  if (!hold) return nullptr;
  auto child = std::make_unique<CpuOperation>();
  child->kind = Operation::Kind::kTask;
  child->hold = std::move(hold);
  child->task.share = &part->share;
  child->task.urgency = from.task.urgency;
  child->task.context = from.task.context;
  PrepareTask(child.get());
  return child;
}

RuntimeError CpuSpace::Place(CpuOperation* from, std::unique_ptr<CpuOperation> child, const RuntimeCall& call,
                             uint64_t stream, ChildOrder::Ready* ready) {
  const bool at_tail = stream == kTailLaunch;
  child->parent = from;
  child->depth = from->depth + (at_tail ? 0 : 1);  // the tail takes its launcher's place
  if (child->depth > kMostDepth) return RuntimeError::kLaunchMaxDepthExceeded;
  ChildOrder& order = *from->children;
  ChildStream* in = nullptr;
  if (stream == kFireAndForget) {
    in = order.StreamOfItsOwn();
  } else if (stream == kPerThreadStream || (stream == kNullStream && call.per_thread_stream)) {
    in = order.StreamOfThread(call.block, call.thread);
  } else if (stream == kNullStream || stream == kLegacyStream) {
    in = order.StreamOfBlock(call.block);
  } else if (!at_tail) {
    in = order.NamedStream(stream);
    if (in == nullptr) return RuntimeError::kInvalidResourceHandle;
  }
  ++PartOf(child->task)->pending;
  child->counted = true;
  if (at_tail) {
    order.LaunchAtTail(child.release());
  } else {
    order.Launch(in, child.release(), ready);
  }
  return RuntimeError::kNone;
}

RuntimeError CpuSpace::UseStream(Part* part, CpuOperation* from, RuntimeCall* call, ChildOrder::Ready* ready) {
  ChildOrder& order = *from->children;
  auto& w = call->words;
  const bool makes =
      call->function == RuntimeFunction::kStreamCreate || call->function == RuntimeFunction::kEventCreate;
  if (call->function == RuntimeFunction::kStreamDestroy || call->function == RuntimeFunction::kEventDestroy) {
    const bool known =
        call->function == RuntimeFunction::kStreamDestroy ? order.DestroyStream(w[0]) : order.DestroyEvent(w[0]);
    return known ? RuntimeError::kNone : RuntimeError::kInvalidResourceHandle;
  }
  if (!makes && !part->MayLaunchMore()) return RuntimeError::kLaunchPendingCountExceeded;
  HostHold hold(host_.get(), kMarkerBytes);
  if (!hold) return RuntimeError::kMemoryAllocation;
  if (makes) {
    const bool is_stream = call->function == RuntimeFunction::kStreamCreate;
    if (w[1] != (is_stream ? kNonBlocking : kDisableTiming)) return RuntimeError::kInvalidValue;
    w[0] = is_stream ? order.CreateStream(std::move(hold)) : order.CreateEvent(std::move(hold));
    return RuntimeError::kNone;
  }
  const bool records = call->function != RuntimeFunction::kStreamWaitEvent;
  const uint64_t name = w[records ? 1 : 0], event = w[records ? 0 : 1];
  ChildStream* in = order.NamedStream(name);
  if (name == kPerThreadStream || (name == kNullStream && call->per_thread_stream)) {
    in = order.StreamOfThread(call->block, call->thread);
  } else if (name == kNullStream || name == kLegacyStream) {
    in = order.StreamOfBlock(call->block);
  }
  if (in == nullptr) return RuntimeError::kInvalidResourceHandle;
  const bool known =
      records ? order.Record(event, in, std::move(hold), ready) : order.Wait(in, event, std::move(hold), ready);
  return known ? RuntimeError::kNone : RuntimeError::kInvalidResourceHandle;
}

// More become ready where one is over at once.
void CpuSpace::StartChildren(Part* part, ChildOrder::Ready* ready) {
  for (size_t i = 0; i < ready->size(); ++i) {
    CpuOperation* const child = (*ready)[i];
    if (child->run != nullptr) {
      BeginRun(part, child, ready);
    } else if (!StartChild(part, child)) {
      EndBlocks(part, child, ready);
    }
  }
  ready->clear();
}

// False if it is over: the device has failed.
bool CpuSpace::StartChild(Part* part, CpuOperation* child) {
  if (part->error != 0) return false;
  if (child->task.is_kernel) {
    const ModuleInstance& module = ModuleOf(*child);
    KernelInstance* const kernel = child->kept != nullptr
                                       ? child->kept.get()
                                       : modules_.FindPrepared(module, child->shape.kernel, child->shape.block);
    if (kernel != nullptr && kernel->load_error) {
      const Error error = *std::exchange(kernel->load_error, std::nullopt);
      FailLocked(part->ordinal, {.status = error.code, .report = error.text});
      return false;
    }
    if (kernel == nullptr || kernel->code == nullptr) {
      AwaitCode(part, child);
      return true;
    }
    const DeviceGraph::Node* const node =
        child->role == CpuOperation::Role::kNode ? &child->parent->run->graph->nodes[child->node] : nullptr;
    if (node != nullptr && node->updatable != nullptr) {
      if (!node->updatable->enabled) return false;
      child->arguments = node->updatable->arguments;
      std::copy_n(node->updatable->grid, 3, child->shape.grid);
    }
    Grid grid{.kernel = 0, .dynamic_shared_bytes = child->shape.dynamic_shared_bytes, .arguments = child->arguments};
    std::copy_n(child->shape.grid, 3, grid.grid);
    std::copy_n(child->shape.block, 3, grid.block);
    const module::KernelInfo& info = module.index->kernels[child->shape.kernel];
    for (int i = 0; info.required_cluster[0] != 0 && i < 3; ++i)
      grid.cluster[i] = std::max(info.required_cluster[i], 1u);
    grid.explicit_cluster = info.required_cluster[0] != 0;
    if (node != nullptr) {
      std::copy_n(node->work.cluster, 3, grid.cluster);
      grid.explicit_cluster = node->work.launch.cluster_packed != 0;
    }
    if (const Status valid = CheckLaunch(grid, *kernel, part->ordinal); !valid) {
      FailLocked(part->ordinal, {.status = valid.error().code, .report = valid.error().text});
      return false;
    }
    FillLaunch(child, part, kernel, grid);
  }
  for (CpuOperation* of = child->parent; of != nullptr && !of->ran; of = of->parent) of->ran = true;
  errands_.Add(part->device->scheduler.Submit(&child->task));
  return true;
}

// Whose kernel it is: a node of a graph has one, other children are of the module of who launched them.
const ModuleInstance& CpuSpace::ModuleOf(const CpuOperation& child) {
  return child.kept != nullptr ? *child.kept->module : *child.module;
}

void CpuSpace::AwaitCode(Part* part, CpuOperation* child) {
  const ModuleInstance& module = ModuleOf(*child);
  const bool is_fetched = std::ranges::any_of(part->awaiting_code, [&](const CpuOperation* other) {
    return SameCode(other->shape, child->shape) && ModuleOf(*other).id == module.id;
  });
  part->awaiting_code.push_back(child);
  if (!is_fetched) FetchCode(part, module.id, child->shape);
}

void CpuSpace::FetchCode(Part* part, uint32_t module, const ChildShape& shape) {
  const bool taken = fetcher_.Add([this, part, module, shape] {
    const auto prepared = modules_.Prepare(module, shape.kernel, shape.block, [this] { return MakeRoomForCode(); });
    const auto is_evicted = [&] {
      std::lock_guard lock(mutex_);
      const KernelInstance* const kernel = modules_.Find(prepared->id);
      return kernel != nullptr && kernel->code == nullptr;
    };
    if (prepared && is_evicted()) LoadAgain(prepared->id);
    std::unique_lock lock(mutex_);
    const auto waits = std::ranges::stable_partition(part->awaiting_code, [&](const CpuOperation* child) {
      return !SameCode(child->shape, shape) || ModuleOf(*child).id != module;
    });
    ChildOrder::Ready ready(waits.begin(), waits.end());
    part->awaiting_code.erase(waits.begin(), waits.end());
    if (!prepared && !ready.empty())
      FailLocked(part->ordinal, {.status = prepared.error().code,
                                 .report = fmt::format("{}: {}", LauncherOf(*ready.front()), prepared.error().text)});
    StartChildren(part, &ready);
    UnlockAndRunDeferred(&lock);
  });
  if (!taken)
    FailLocked(part->ordinal, {.status = cuda::CUDA_ERROR_OUT_OF_MEMORY,
                               .report = "the server has no thread to fetch what kernels launch"});
}

// The operation's blocks have ended, and with that perhaps its parent's last child, and so on.
void CpuSpace::EndBlocks(Part* part, CpuOperation* operation, ChildOrder::Ready* ready) {
  operation->blocks_over = true;
  if (operation->open_buffers != 0) part->buffers.GiveAllOf(operation);
  operation->open_buffers = 0;
  if (operation->counted) --part->pending;
  while (operation != nullptr && operation->blocks_over) {
    CpuOperation* const parent = operation->parent;
    if (operation->children != nullptr) {
      if (!operation->children->empty()) return;
      if (parent == nullptr && operation->children->BeginTail(ready)) return;
      if (parent != nullptr) {
        const auto tail = operation->children->TakeTail();
        for (CpuOperation* const child : tail) child->parent = parent;
        parent->children->LaunchBehind(operation, tail);
      }
      operation->children.reset();
    }
    if (parent == nullptr) {
      CpuOperation* record = operation;
      const bool ran = operation->role == CpuOperation::Role::kPlain || operation->ran;
      if (operation->role == CpuOperation::Role::kEnvironment) {
        record = operation->end;
        delete operation;
      }
      return record != nullptr ? engine_.TaskDone(record, ran) : void();
    }
    // What comes behind a node is launched before the node is over: until then its run is not.
    if (operation->role == CpuOperation::Role::kNode && part->error == 0) BeginNodes(parent, {operation->node}, ready);
    if (operation->run != nullptr) RunOver(operation);
    parent->children->Done(operation, ready);
    TaskOver(operation);
    if (operation->kept != nullptr && operation->kept.use_count() == 1)
      engine_.Release({.address = 0, .kept = std::move(operation->kept)});
    delete operation;
    operation = parent;
  }
}

void CpuSpace::DropAwaiting(Part* part) {
  ChildOrder::Ready ready = std::exchange(part->awaiting_code, {});
  StartChildren(part, &ready);
}

}  // namespace tutti::device::cpu
