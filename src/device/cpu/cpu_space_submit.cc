// Records on their way into streams: validated, made into operations, started when their turn comes, and completed.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cuda/result.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/exec/device_limits.h"

namespace tutti::device::cpu {
namespace {

BlockHabits& TransferHabits() {
  static BlockHabits habits;  // of a 256 KiB piece; the same for everybody
  return habits;
}

bool IsClusterSize(const uint32_t (&cluster)[3]) {
  uint32_t blocks = 1;
  for (const uint32_t extent : cluster) {
    if (extent > guest::kMaxClusterBlocks) return false;
    blocks *= extent;
  }
  return blocks <= guest::kMaxClusterBlocks;
}

// Blocks that print are best read in order, and those of a cluster wait for each other.
bool MayBeginAnywhere(const guest::KernelLaunch& launch) {
  const uint32_t flags = launch.descriptor->flags & (guest::kBlocksInAnyOrder | guest::kUsesPrint);
  return flags == guest::kBlocksInAnyOrder && !launch.cooperative && launch.cluster_blocks() == 1;
}

Fault IllegalAddress(const char* what, uint64_t address) {
  return {.status = cuda::CUDA_ERROR_ILLEGAL_ADDRESS,
          .report = fmt::format("{} with illegal address 0x{:x}", what, address),
          .has_address = true,
          .address = address};
}

}  // namespace

Result<Stream*> CpuSpace::FindStream(uint32_t number) const {
  Stream* const stream = engine_.Find(number);
  if (stream == nullptr) return tutti::Fail(fmt::format("there is no stream {}", number));
  return stream;
}

Status CpuSpace::CreateStream(uint32_t stream, const StreamOptions& options) {
  if (options.device >= parts_.size())
    return tutti::Fail(fmt::format("a stream on device {}, which does not exist", options.device));
  std::lock_guard lock(mutex_);
  return engine_.Create(stream, options);
}

Status CpuSpace::DestroyStream(uint32_t stream) {
  std::lock_guard lock(mutex_);
  return engine_.Destroy(stream);
}

Result<CpuOperation*> CpuSpace::NewTask(uint64_t ticket, const Stream& stream, uint64_t argument_bytes) {
  TUTTI_ASSIGN(Operation* const operation, engine_.NewOperation(Operation::Kind::kTask, ticket, argument_bytes));
  auto* const task = static_cast<CpuOperation*>(operation);
  PrepareTask(task, stream);
  return task;
}

void CpuSpace::PrepareTask(CpuOperation* operation, const Stream& stream) {
  operation->parent = nullptr;
  operation->depth = operation->open_buffers = 0;
  operation->blocks_over = operation->ran = operation->begins_family = false;
  operation->role = CpuOperation::Role::kPlain;
  operation->environment = 0;
  operation->graph.reset();
  operation->task.share = &parts_[stream.device]->share;
  operation->task.urgency = stream.urgency;
  operation->task.context = stream.context;
  PrepareTask(operation);
}

void CpuSpace::PrepareTask(CpuOperation* operation) {
  operation->kernel = nullptr;
  Task& task = operation->task;
  task.operation = operation;
  task.run_blocks = 1;
  task.is_kernel = task.any_order = false;
  task.kernel.cooperative = false;
  task.habits = &TransferHabits();
  task.yields = false;
}

Status CpuSpace::CheckLaunch(const Grid& grid, const KernelInstance& kernel, uint32_t device) const {
  const guest::KernelDescriptor& descriptor = *kernel.code->descriptor;
  const auto invalid = [&kernel](std::string text) {
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("launch of {}: {}", *kernel.name, text));
  };
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (grid.grid[i] == 0 || grid.grid[i] > kMaxGrid[i] || grid.block[i] == 0 || grid.block[i] > kMaxBlock[i]) {
      return invalid("grid or block size out of range");
    }
    if (grid.cluster[i] == 0 || grid.grid[i] % grid.cluster[i] != 0)
      return invalid("the grid is not made of whole clusters");
    if (descriptor.block[i] != 0 && descriptor.block[i] != grid.block[i])
      return invalid("made ready for another block shape");
    threads *= grid.block[i];
  }
  if (threads > kMaxThreadsPerBlock) return invalid("more than 1024 threads per block");
  if (!IsClusterSize(grid.cluster)) return invalid("cluster too large");
  if (uint64_t{grid.dynamic_shared_bytes} + descriptor.static_shared_bytes > kSharedBytesOptIn) {
    return invalid("too much shared memory");
  }
  if (grid.arguments.size() < kernel.param_bytes) return invalid("too few argument bytes");
  if (kernel.module->device != device) return invalid("the kernel's module was loaded on another device");
  if (grid.cooperative) {
    const uint64_t per_sm = std::min<uint64_t>(kMaxBlocksPerSm, kMaxThreadsPerSm / threads);
    const uint64_t blocks = uint64_t{grid.grid[0]} * grid.grid[1] * grid.grid[2];
    if (blocks > per_sm * parts_[device]->device->scheduler.sms()) {
      return tutti::Fail(cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                         fmt::format("launch of {}: {} blocks cannot all be resident", *kernel.name, blocks));
    }
  }
  return {};
}

// What the kernel's launches begin with now.
void CpuSpace::SetCode(Task* task, const KernelInstance& kernel) {
  task->kernel.descriptor = kernel.code->descriptor;
  task->is_quick = kernel.code->is_quick;
}

// All but its arguments, which it has.
void CpuSpace::FillLaunch(CpuOperation* operation, Part* part, KernelInstance* kernel, const Grid& grid) {
  operation->kernel = kernel;
  Task& task = operation->task;
  task.is_kernel = true;
  task.habits = &kernel->habits;
  guest::KernelLaunch& launch = task.kernel;
  SetCode(&task, *kernel);
  const bool runs_alone = !grid.cooperative && grid.cluster[0] * grid.cluster[1] * grid.cluster[2] == 1;
  launch.newest = runs_alone && kernel->code->replacement != nullptr ? &kernel->newest : nullptr;
  launch.host = part;
  launch.owner = owner_number_;
  std::copy_n(grid.grid, 3, launch.grid);
  std::copy_n(grid.block, 3, launch.block);
  std::copy_n(grid.cluster, 3, launch.cluster);
  launch.explicit_cluster = grid.explicit_cluster;
  launch.dynamic_shared_bytes = grid.dynamic_shared_bytes;
  launch.params = operation->arguments.data();
  launch.param_bytes = static_cast<uint32_t>(operation->arguments.size());
  launch.module_base = kernel->module->addresses.segment;
  launch.constants_base = kernel->module->addresses.Of(0);
  launch.window_base = memory_.base();
  launch.window_bytes = memory_.bytes();
  launch.reach_begin = &memory_.reach_begin();
  launch.reach_end = &memory_.reach_end();
  launch.grid_id = kernel->launched = ++launched_;
  ++kernel->in_streams;
  launch.cooperative = grid.cooperative;
  launch.cooperative_workspace = 0;
  launch.operation = operation;
  launch.sm_count = part->device->scheduler.sms();
  task.any_order = MayBeginAnywhere(launch);
  task.total_blocks = launch.runs();
  task.run_blocks = launch.cluster_blocks();
  counters_[part->ordinal].AddAlone(metrics::Counter::launches);
}

Status CpuSpace::Launch(uint32_t stream_number, uint64_t ticket, const Grid& grid) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  KernelInstance* const kernel = modules_.Find(grid.kernel);
  std::optional<Error> load_error;
  if (kernel != nullptr && kernel->code == nullptr) [[unlikely]] {
    load_error = std::exchange(kernel->load_error, std::nullopt);
    if (!load_error) return tutti::Fail(kNotLoaded, "its code is to be loaded again");
  }
  TUTTI_ASSIGN(CpuOperation* const operation, NewTask(ticket, *stream, grid.arguments.size()));
  Part& part = *parts_[stream->device];
  const Status valid = load_error          ? std::unexpected(*load_error)
                       : kernel != nullptr ? CheckLaunch(grid, *kernel, stream->device)
                                           : tutti::Fail(cuda::CUDA_ERROR_INVALID_HANDLE,
                                                         fmt::format("launch of unknown kernel {}", grid.kernel));
  if (valid) {
    operation->arguments.assign(grid.arguments.begin(), grid.arguments.end());
    operation->environment = grid.environment;
    FillLaunch(operation, &part, kernel, grid);
  } else {
    operation->task.total_blocks = 0;
    FailLocked(stream->device, {.status = valid.error().code, .report = valid.error().text});
  }
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

// Constants are written by copies, and by nothing else; through the file, so only where there are some: a page of a
// file that is written exists. False if there are none at a part of the destination.
bool CpuSpace::WriteConstants(Transfer* transfer) const {
  const uint64_t to = transfer->destination(), bytes = transfer->destination_bytes();
  if (!memory_.HasConstants(to, bytes)) return true;
  if (!memory_.HoldsConstants(to, bytes)) return false;
  transfer->WriteThrough(memory_.fd(), memory_.base());
  return true;
}

Status CpuSpace::Copy(uint32_t stream_number, uint64_t ticket, const wire::CopyBody& copy) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(CpuOperation* const operation, NewTask(ticket, *stream));
  uint64_t bad = 0;
  if (!operation->task.transfer.SetCopy(copy, memory_.base(), memory_.bytes(), &bad)) {
    FailLocked(stream->device, IllegalAddress("copy", bad));
  } else if (!WriteConstants(&operation->task.transfer)) {
    FailLocked(stream->device, IllegalAddress("copy", operation->task.transfer.destination()));
    operation->task.transfer = Transfer();
  }
  operation->task.total_blocks = operation->task.transfer.pieces();
  counters_[stream->device].AddAlone(metrics::Counter::copied_bytes, operation->task.transfer.total_bytes());
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

// A word that others wait for is written though what was before it fails, or its client ends: else they would wait for
// ever.
Status CpuSpace::Fill(uint32_t stream_number, uint64_t ticket, const wire::FillBody& fill) {
  const bool is_word = fill.width == 1 && fill.height == 1 && fill.element_bytes == sizeof(uint64_t);
  if (is_word && memory_.IsCounter(fill.destination)) {
    return SubmitSimple(
        Operation::Kind::kStore, stream_number, ticket,
        [](Operation* operation, uint64_t address, uint64_t value) {
          operation->address = address;
          operation->value = value;
        },
        fill.destination, fill.value);
  }
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(CpuOperation* const operation, NewTask(ticket, *stream));
  uint64_t bad = 0;
  if (!operation->task.transfer.SetFill(fill, memory_.base(), memory_.bytes(), &bad)) {
    FailLocked(stream->device, IllegalAddress("fill", bad));
  } else if (!WriteConstants(&operation->task.transfer)) {
    FailLocked(stream->device, IllegalAddress("fill", operation->task.transfer.destination()));
    operation->task.transfer = Transfer();
  }
  operation->task.total_blocks = operation->task.transfer.pieces();
  counters_[stream->device].AddAlone(metrics::Counter::copied_bytes, operation->task.transfer.total_bytes());
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

Status CpuSpace::SubmitSimple(Operation::Kind kind, uint32_t stream_number, uint64_t ticket,
                              void (*fill)(Operation*, uint64_t, uint64_t), uint64_t a, uint64_t b) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_TRY(StreamEngine::Admit(stream, kind));
  TUTTI_ASSIGN(Operation* const operation, engine_.NewOperation(kind, ticket));
  fill(operation, a, b);
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

Status CpuSpace::RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) {
  return SubmitSimple(
      Operation::Kind::kEvent, stream, ticket,
      [](Operation* operation, uint64_t number, uint64_t) { operation->event = static_cast<uint32_t>(number); }, event,
      0);
}

Status CpuSpace::Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) {
  return SubmitSimple(
      Operation::Kind::kWait, stream, ticket,
      [](Operation* operation, uint64_t other, uint64_t until) {
        operation->other_stream = static_cast<uint32_t>(other);
        operation->other_ticket = std::min(until, operation->ticket);  // only what came before can be waited for
      },
      other_stream, other_ticket);
}

Status CpuSpace::HostCall(uint32_t stream, uint64_t ticket, uint64_t token) {
  return SubmitSimple(
      Operation::Kind::kHostCall, stream, ticket,
      [](Operation* operation, uint64_t value, uint64_t) { operation->token = value; }, token, 0);
}

Status CpuSpace::Mark(uint32_t stream, uint64_t ticket) {
  return SubmitSimple(Operation::Kind::kMark, stream, ticket, [](Operation*, uint64_t, uint64_t) {}, 0, 0);
}

Status CpuSpace::FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) {
  const bool held = memory_.Retire(address).has_value();
  return SubmitSimple(
      Operation::Kind::kFree, stream, ticket,
      [](Operation* operation, uint64_t freed, uint64_t) { operation->freed = freed; }, held ? address : 0, 0);
}

Status CpuSpace::HostCallDone(uint32_t stream, uint64_t token) {
  std::unique_lock lock(mutex_);
  engine_.HostCallDone(stream, token);
  UnlockAndRunDeferred(&lock);
  return {};
}

// The Space's lock is held.
CpuSpace::Begun CpuSpace::Start(Operation* operation) {
  auto* const record = static_cast<CpuOperation*>(operation);
  Task& task = record->task;
  record->blocks_over = record->ran = false;  // a loop begins it again
  // A graph's nodes are begun under the lock. Between two graphs the device runs a task, so others have their turn, and
  // whoever ends the client.
  if (record->role == CpuOperation::Role::kGraphLaunch) {
    record->begins_family = true;
    task.transfer = Transfer();
    task.total_blocks = 1;
    errands_.Add(parts_[operation->stream->device]->device->scheduler.Submit(&task));
    return Begun::kRuns;
  }
  if (record->role != CpuOperation::Role::kPlain) {
    begun_.push_back(record);
    return Begun::kRuns;
  }
  if (task.total_blocks == 0) return Begun::kOver;
  if (task.is_kernel) SetCode(&task, *record->kernel);  // it may be better by now
  if (task.is_kernel && task.kernel.cooperative) {
    // What %envreg1/2 point to: {u32 size, u32 barrier}, zero at the start.
    constexpr uint64_t kWorkspaceBytes = 256;
    const uint32_t device = operation->stream->device;
    const auto workspace =
        memory_.Allocate(device, wire::MemoryKind::kScratch, kWorkspaceBytes, 0, WindowMemory::Holder::kDevice);
    if (!workspace) return Begun::kOver;  // only with a full window
    *reinterpret_cast<uint32_t*>(*workspace) = 2 * sizeof(uint32_t);
    task.kernel.cooperative_workspace = *workspace;
  }
  errands_.Add(parts_[operation->stream->device]->device->scheduler.Submit(&task));
  return Begun::kRuns;
}

void CpuSpace::EndTask(CpuOperation* operation) {
  Task& task = operation->task;
  if (std::exchange(operation->begins_family, false)) return begun_.push_back(operation);
  if (task.is_kernel && task.kernel.cooperative_workspace != 0)
    engine_.Release({.address = std::exchange(task.kernel.cooperative_workspace, 0), .kept = nullptr});
  if (operation->parent == nullptr && operation->children == nullptr && operation->open_buffers == 0)
    return engine_.TaskDone(operation);
  Part* const part = PartOf(task);
  ChildOrder::Ready ready;
  EndBlocks(part, operation, &ready);
  StartChildren(part, &ready);
}

void CpuSpace::TaskDone(CpuOperation* operation) {
  std::unique_lock lock(mutex_);
  EndTask(operation);
  UnlockAndRunDeferred(&lock);
}

}  // namespace tutti::device::cpu
