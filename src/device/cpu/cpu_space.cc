#include "device/cpu/cpu_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "cuda/limits.h"
#include "cuda/result.h"
#include "device/cpu/schedule/sm_thread.h"
#include "guest/print_format.h"

namespace tutti::device::cpu {
namespace {

uint64_t NextOwnerNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::vector<MemoryAccount*> AccountsOf(const std::vector<std::unique_ptr<CpuDevice>>& devices) {
  std::vector<MemoryAccount*> accounts;
  for (const auto& device : devices) accounts.push_back(&device->account);
  return accounts;
}

// All, if the device is not named.
SmSet SmsOf(const Limits& limits, uint32_t device) {
  SmSet sms;
  bool bound = false;
  for (const wire::SmRange& range : limits.sm_ranges) {
    if (range.device != device) continue;
    bound = true;
    for (uint64_t sm = range.first_sm; sm < std::min<uint64_t>(uint64_t{range.first_sm} + range.count, kMaxSms); ++sm)
      sms.set(sm);
  }
  return bound ? sms : SmSet().set();
}

}  // namespace

CpuSpace::Part::Part(CpuSpace* owner, CpuDevice* on, uint32_t number)
    : space(owner),
      device(on),
      ordinal(number),
      heap(&owner->memory_, number),
      buffers(&owner->memory_, owner->host_.get(), number) {
  for (size_t i = 0; i < limits.size(); ++i) limits[i] = cuda::kDefaultLimits[i];
  share.space = owner;
  share.counters = &owner->counters_[number];
  device->scheduler.AddShare(&share);
}

CpuSpace::CpuSpace(Window window, const wire::WindowShape& shape, const Limits& limits, Sink* sink,
                   std::string_view label, const std::vector<std::unique_ptr<CpuDevice>>& devices, MemoryAccount* host,
                   uint64_t host_bytes, HugePageMaker* maker, uint32_t loaded_kernels, CodeSource* source)
    : counters_(new metrics::ClientCounters[devices.size()]),
      owner_number_(NextOwnerNumber()),
      label_(std::make_shared<const std::string>(label)),
      sink_(sink),
      host_(std::make_shared<HostShare>(host, host_bytes)),
      window_(std::move(window)),
      shape_(shape),
      memory_(window_.base(), shape, window_.file(), AccountsOf(devices), host_.get(), maker, limits.memory_groups,
              sink, counters_.get()),
      code_link_(std::make_shared<CodeLink>(this)),
      modules_(source, &memory_, host_.get(), loaded_kernels, code_link_),
      engine_(this, sink, &CpuOperation::Make, MostBacklog(host_bytes), host_.get()) {
  for (uint32_t i = 0; i < devices.size(); ++i) parts_.push_back(std::make_unique<Part>(this, devices[i].get(), i));
  SetLimits(limits);
}

// The client's blocks may be in the middle of anything, even endless: what runs is abandoned.
CpuSpace::~CpuSpace() {
  code_link_->Cut();
  Abandon();
  for (auto& part : parts_) {
    part->device->scheduler.WaitQuiet(&part->share);
  }
  fetcher_.Stop();
  for (auto& part : parts_) part->device->scheduler.RemoveShare(&part->share);
}

void CpuSpace::Abandon() {
  modules_.Cancel();
  {
    std::lock_guard lock(mutex_);
    engine_.Mute();
    for (auto& part : parts_) part->error = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  for (uint32_t device = 0; device < parts_.size(); ++device) DropWork(device);
}

void CpuSpace::DropWork(uint32_t device) {
  std::unique_lock lock(mutex_);
  std::vector<Task*> dropped;
  parts_[device]->device->scheduler.Drop(&parts_[device]->share, &dropped);
  for (Task* task : dropped) EndTask(task->operation);
  DropAwaiting(parts_[device].get());
  DropEnvironments(parts_[device].get());
  engine_.Drain(device);
  UnlockAndRunDeferred(&lock);
}

void CpuSpace::UnlockAndRunDeferred(std::unique_lock<std::mutex>* lock) {
  BeginFamilies();
  if (errands_.empty() && !engine_.has_wakes() && !engine_.has_released()) return lock->unlock();
  const Errands errands = std::move(errands_);
  const Wakes wakes = engine_.TakeWakes();
  std::vector<Deferred> released = engine_.TakeReleased();
  lock->unlock();
  errands.Run();  // SMs first: their work should be under way when the woken clients compete for their cores
  wakes.Run(sink_);
  if (released.empty()) return;
  const SmAbsence absence;
  for (const Deferred& item : released) {
    if (item.address != 0) memory_.Release(item.address);
  }
  released.clear();  // and what it keeps
}

Result<uint64_t> CpuSpace::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  return memory_.Allocate(device, kind, bytes, alignment, WindowMemory::Holder::kClient);
}

// Whose memory it was may get gigabytes back.
Status CpuSpace::Unmap(uint64_t address, uint64_t bytes) {
  const SmAbsence absence;
  return memory_.Unmap(address, bytes);
}

Status CpuSpace::Free(uint64_t address) {
  TUTTI_TRY(memory_.Retire(address));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = address, .kept = nullptr});
  UnlockAndRunDeferred(&lock);
  return {};
}

Result<Space::LoadedModule> CpuSpace::LoadModule(uint32_t device, std::span<const uint8_t> image) {
  if (device >= parts_.size())
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  return modules_.Load(device, image);
}

Result<uint32_t> CpuSpace::BlocksPerSm(uint32_t, uint32_t, uint32_t, uint32_t) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "clients know it by their modules' registers and shared memory");
}

Status CpuSpace::UnloadModule(uint32_t module) {
  module::SegmentAddresses addresses;
  TUTTI_ASSIGN(auto kept, modules_.Unload(module, &addresses));
  std::unique_lock lock(mutex_);
  if (addresses.constant_bytes != 0) engine_.Defer({.address = addresses.constants, .kept = nullptr});
  engine_.Defer({.address = addresses.segment, .kept = std::move(kept)});
  UnlockAndRunDeferred(&lock);
  return {};
}

std::vector<Space::RunningKernel> CpuSpace::Running(uint32_t device) {
  std::vector<RunningKernel> running;
  running.reserve(kMostRunning);
  const uint64_t now_ns = NowNs();
  parts_[device]->device->scheduler.ForEachBegun(&parts_[device]->share, [&](const Task& task) {
    if (!task.is_kernel || running.size() == kMostRunning) return;
    RunningKernel& kernel = running.emplace_back();
    kernel.name = *task.operation->kernel->name;
    std::copy_n(task.kernel.grid, 3, kernel.grid);
    std::copy_n(task.kernel.block, 3, kernel.block);
    kernel.blocks = task.total_blocks * task.run_blocks;
    kernel.begun = task.order.begun() * task.run_blocks;
    kernel.done = task.order.ended() * task.run_blocks;
    kernel.running_ns = now_ns - std::min(now_ns, task.begun_ns);
  });
  return running;
}

void CpuSpace::Fail(uint32_t device, Fault fault) {
  std::unique_lock lock(mutex_);
  FailLocked(device, std::move(fault));
  UnlockAndRunDeferred(&lock);
}

void CpuSpace::FailLocked(uint32_t device, Fault fault) {
  Part& part = *parts_[device];
  if (part.error != 0) return;
  if (fault.status == 0) fault.status = cuda::CUDA_ERROR_LAUNCH_FAILED;  // of the system: it has no CUresult
  part.error = fault.status;
  counters_[device].Add(metrics::Counter::faults);
  if (fault.has_address) memory_.NameNearest(&fault);
  sink_->Faulted(device, fault);
  std::vector<Task*> dropped;
  part.device->scheduler.Drop(&part.share, &dropped);
  for (Task* task : dropped) EndTask(task->operation);
  DropAwaiting(&part);
  DropEnvironments(&part);
  engine_.Drain(device);
}

void CpuSpace::Reset(uint32_t device) {
  if (device >= parts_.size()) return;
  Part& part = *parts_[device];
  {
    std::lock_guard lock(mutex_);
    if (part.error == 0) part.error = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;  // nothing new begins
  }
  DropWork(device);
  part.device->scheduler.WaitQuiet(&part.share);
  std::lock_guard lock(mutex_);
  part.device->scheduler.Revive(&part.share);
  part.error = 0;
  sink_->Recovered(device);
}

void CpuSpace::SetLimits(const Limits& limits) {
  memory_.SetLimits(limits.memory_bytes);
  for (uint32_t device = 0; device < parts_.size(); ++device) {
    parts_[device]->device->scheduler.SetLimits(&parts_[device]->share, {.percentage = limits.active_thread_percentage,
                                                                         .band = limits.priority > 0 ? 1u : 0u,
                                                                         .sms = SmsOf(limits, device),
                                                                         .kernel_limit_ns = limits.kernel_ns});
  }
}

Status CpuSpace::LimitContext(uint32_t device, uint32_t context, double part) {
  if (device >= parts_.size()) return tutti::Fail(fmt::format("a limit on device {}, which does not exist", device));
  return parts_[device]->device->scheduler.LimitContext(&parts_[device]->share, context, part);
}

Status CpuSpace::LimitHeap(uint32_t device, uint64_t bytes) {
  if (device >= parts_.size()) return tutti::Fail(fmt::format("the heap of device {}, which does not exist", device));
  parts_[device]->heap.SetLimit(bytes);
  return {};
}

Status CpuSpace::SetKernelLimit(uint32_t device, int32_t limit, uint64_t value) {
  if (device >= parts_.size() || limit < 0 || limit >= cuda::CU_LIMIT_COUNT)
    return tutti::Fail(fmt::format("limit {} of device {}, which does not exist", limit, device));
  parts_[device]->limits[static_cast<size_t>(limit)].store(value, std::memory_order_relaxed);
  return {};
}

int32_t CpuSpace::Part::Print(const guest::GuestMemory& memory, uint64_t format, uint64_t arguments) {
  const guest::PrintedText printed = guest::FormatPrint(memory, format, arguments);
  if (!printed.text.empty()) space->sink_->Printed(printed.text);
  return printed.arguments;
}

void CpuSpace::Part::AssertFailed(const guest::GuestMemory& memory, const Assertion& a) {
  constexpr size_t kTextLimit = 1024;
  space->sink_->AssertFailed(fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n",
                                         guest::ReadGuestString(memory, a.file, kTextLimit), a.line,
                                         guest::ReadGuestString(memory, a.function, kTextLimit), a.block[0], a.block[1],
                                         a.block[2], a.thread[0], a.thread[1], a.thread[2],
                                         guest::ReadGuestString(memory, a.message, kTextLimit)));
}

}  // namespace tutti::device::cpu
