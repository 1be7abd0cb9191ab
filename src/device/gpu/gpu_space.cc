#include "device/gpu/gpu_space.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "cuda/result.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {
namespace {

constexpr const char* kNoMapping =
    "memory at reserved addresses, and memory of other processes, are not supported on a GPU yet";
constexpr const char* kNoConditions = "conditional nodes of graphs are not supported on a GPU yet";

uint64_t LimitOf(const Limits& limits) { return limits.memory_bytes.empty() ? kNoMemoryLimit : limits.memory_bytes[0]; }

}  // namespace

GpuSpace::GpuSpace(std::unique_ptr<ExecutorLink> executor, uint64_t base, const wire::WindowShape& shape,
                   HostPart host_part, const Limits& limits, Sink* sink, MemoryAccount* account, MemoryAccount* host,
                   uint64_t host_bytes, Pilot* pilot)
    : sink_(sink),
      pilot_(pilot),
      host_(host, host_bytes),
      executor_(std::move(executor)),
      memory_(executor_.get(), base, shape, std::move(host_part), account, &host_, limits.memory_groups, sink,
              &counters_),
      modules_(executor_.get()),
      engine_(this, sink, &GpuOperation::Make, MostBacklog(host_bytes), &host_) {
  SetLimits(limits);
  pilot_->Add(this);
}

GpuSpace::~GpuSpace() {
  Abandon();
  pilot_->Remove(this);
}

void GpuSpace::Abandon() {
  executor_->Kill();
  std::unique_lock lock(mutex_);
  engine_.Mute();
  muted_ = true;
  LoseExecutor({.code = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, .text = ""});
  UnlockAndRunDeferred(&lock);
}

void GpuSpace::UnlockAndRunDeferred(std::unique_lock<std::mutex>* lock) {
  executor_->dispatch().Publish();
  if (!engine_.has_wakes() && !engine_.has_released()) return lock->unlock();
  const Wakes wakes = engine_.TakeWakes();
  std::vector<Deferred> released = engine_.TakeReleased();
  lock->unlock();
  wakes.Run(sink_);
  for (const Deferred& item : released) {
    if (item.address != 0) memory_.Release(item.address);
  }
}

// --- memory

Result<uint64_t> GpuSpace::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  if (device != 0) return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  return memory_.Allocate(kind, bytes, alignment);
}

Status GpuSpace::Free(uint64_t address) {
  TUTTI_TRY(memory_.Retire(address));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = address, .kept = nullptr});
  UnlockAndRunDeferred(&lock);
  return {};
}

Result<uint64_t> GpuSpace::Word(uint64_t address, uint32_t bytes, uint64_t add) {
  uint8_t* const word = memory_.Reached(address, bytes);
  if (word == nullptr && add == 0) {
    TUTTI_ASSIGN(const ExecutorLink::Reply read,
                 executor_->Ask({.kind = executor::RequestKind::kReadWord, .address = address, .bytes = bytes}));
    return read.answer.value;
  }
  if (word == nullptr) {
    return tutti::Fail(
        cuda::CUDA_ERROR_NOT_SUPPORTED,
        fmt::format("an addition to the word at {:#x}: those in a GPU's memory are not supported yet", address));
  }
  const auto access = [&]<typename Value>(Value) -> uint64_t {
    std::atomic_ref reached(*reinterpret_cast<Value*>(word));
    return add == 0 ? reached.load(std::memory_order_acquire)
                    : reached.fetch_add(static_cast<Value>(add), std::memory_order_acq_rel);
  };
  return bytes == sizeof(uint64_t) ? access(uint64_t{}) : access(uint32_t{});
}

Result<uint64_t> GpuSpace::Reserve(uint32_t, uint64_t, uint64_t, uint64_t) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoMapping);
}
Result<std::shared_ptr<SharedMemory>> GpuSpace::Share(uint64_t, AtEnd) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoMapping);
}
Result<std::shared_ptr<SharedMemory>> GpuSpace::CreateHostMemory(uint64_t) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoMapping);
}
Status GpuSpace::Map(uint64_t, std::shared_ptr<SharedMemory>, bool) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoMapping);
}
Status GpuSpace::Unmap(uint64_t, uint64_t) { return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoMapping); }

// --- conditions: none can be made

Result<uint64_t> GpuSpace::CreateCondition(uint32_t) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoConditions);
}
Status GpuSpace::DestroyCondition(uint64_t) { return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, kNoConditions); }
Status GpuSpace::SetCondition(uint32_t, uint64_t, uint64_t, uint32_t) { return tutti::Fail(kNoConditions); }
Status GpuSpace::BeginConditional(uint32_t, uint64_t, uint64_t, wire::ConditionalKind) {
  return tutti::Fail(kNoConditions);
}
Status GpuSpace::BeginBody(uint32_t, uint64_t, uint32_t) { return tutti::Fail(kNoConditions); }
Status GpuSpace::EndConditional(uint32_t, uint64_t, bool) { return tutti::Fail(kNoConditions); }

// --- modules

Result<Space::LoadedModule> GpuSpace::LoadModule(uint32_t device, std::span<const uint8_t> image) {
  if (device != 0) return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  return modules_.Load(image);
}

Result<PreparedKernel> GpuSpace::Prepare(uint32_t module, uint32_t kernel, const uint32_t*) {
  return modules_.Prepare(module, kernel);
}

Result<uint32_t> GpuSpace::BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                                       uint32_t dynamic_shared_bytes) {
  return modules_.BlocksPerSm(module, kernel, block_threads, dynamic_shared_bytes);
}

Status GpuSpace::UnloadModule(uint32_t module) {
  TUTTI_ASSIGN(auto kept, modules_.Unload(module));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = 0, .kept = std::move(kept)});
  UnlockAndRunDeferred(&lock);
  return {};
}

void GpuSpace::SetLimits(const Limits& limits) { memory_.SetLimit(LimitOf(limits)); }

// --- what is done, and how it ends

bool GpuSpace::Harvest() {
  std::unique_lock lock(mutex_);
  if (lost_ || (lent_.unfinished() == 0 && !executor_->dispatch().waits())) return false;
  if (const auto failure = executor_->Failure()) {
    LoseExecutor(*failure);
    UnlockAndRunDeferred(&lock);
    executor_->Kill();
    return true;
  }
  bool found = false, sound = !executor_->dispatch().broken();
  for (size_t i = 0; sound && i < lent_.all().size(); ++i) {
    LentStreams::Lent& lent = *lent_.all()[i];
    if (lent.unfinished.empty()) continue;
    const auto done = executor_->Done(lent.number, lent.given);
    sound = done.has_value();
    while (Operation* const operation = sound ? lent_.TakeDone(lent, *done) : nullptr) {
      engine_.TaskDone(operation);
      found = true;
    }
  }
  if (!sound) {
    LoseExecutor({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's executor says what cannot be"});
    executor_->Kill();
  }
  UnlockAndRunDeferred(&lock);
  return found || !sound;
}

void GpuSpace::LookForEnd() {
  if (!executor_->HasEnded()) return;
  std::unique_lock lock(mutex_);
  if (lost_) return;
  auto failure = executor_->Failure();
  if (!failure) {
    failure = Error{.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                    .text = "the program's executor has ended, and with it all that the program had on the GPU"};
  }
  LoseExecutor(*failure);
  UnlockAndRunDeferred(&lock);
}

int GpuSpace::watched_fd() {
  std::lock_guard lock(mutex_);
  return lost_ ? -1 : executor_->socket();
}

// Everything that it has been given is over, whether it was done or not.
void GpuSpace::LoseExecutor(const Error& error) {
  if (lost_) return;
  lost_ = true;
  FailLocked(error);
  for (const auto& lent : lent_.all()) {
    while (Operation* const operation = lent_.TakeDone(*lent, ~0ull)) engine_.TaskDone(operation);
  }
}

void GpuSpace::FailLocked(const Error& error) {
  if (error_ != 0) return;
  error_ = error.code;
  if (!muted_) {
    counters_.Add(metrics::Counter::faults);
    sink_->Faulted(0, {.status = error.code, .report = error.text});
  }
  engine_.Drain(0);
}

// An executor that is lost, or that does not come to an end, cannot be replaced yet: the error stays.
void GpuSpace::Reset(uint32_t device) {
  if (device != 0) return;
  constexpr uint64_t kPatienceNs = 20'000'000'000;
  constexpr std::chrono::microseconds kLook{200};
  const uint64_t since_ns = NowNs();
  for (bool first = true;; first = false) {
    std::unique_lock lock(mutex_);
    if (first && error_ == 0) error_ = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;  // nothing new begins
    if (first) engine_.Drain(0);
    if (lost_ || lent_.unfinished() == 0) {
      if (!lost_) error_ = 0;
      return UnlockAndRunDeferred(&lock);
    }
    if (NowNs() - since_ns > kPatienceNs) {
      LoseExecutor({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's kernels do not end"});
      UnlockAndRunDeferred(&lock);
      return executor_->Kill();
    }
    UnlockAndRunDeferred(&lock);
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace tutti::device::gpu
