#include "device/gpu/gpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cuda/result.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kGranularity = 256;
constexpr uint64_t kMostAlignment = 1ull << 30;

}  // namespace

Result<std::unique_ptr<GpuMemory>> GpuMemory::Create(CurrentExecutor* executor, uint64_t base,
                                                     const wire::WindowShape& shape, int window, Accounts accounts,
                                                     Sink* sink, metrics::ClientCounters* counters) {
  TUTTI_ASSIGN(HostPart host_part, HostPart::Create(executor, base, window, shape.host_bytes));
  return std::unique_ptr<GpuMemory>(
      new GpuMemory(executor, base, shape, std::move(host_part), std::move(accounts), sink, counters));
}

GpuMemory::GpuMemory(CurrentExecutor* executor, uint64_t base, const wire::WindowShape& shape, HostPart host_part,
                     Accounts accounts, Sink* sink, metrics::ClientCounters* counters)
    : base_(base),
      bytes_(shape.bytes),
      accounts_(std::move(accounts)),
      sink_(sink),
      counters_(counters),
      host_part_(std::move(host_part)),
      slabs_(executor, base + shape.host_bytes, shape.device_bytes) {}

GpuMemory::~GpuMemory() {
  for (const auto& [address, allocation] : allocations_) Unreserve(allocation);
  if (of_modules_ != 0) Unreserve({.bytes = of_modules_, .on_device = true});
}

Result<uint64_t> GpuMemory::Allocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment)) || kind == wire::MemoryKind::kAddresses) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size and an alignment that is a power of two");
  }
  if (bytes > bytes_ || alignment > kMostAlignment)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes do not fit into the window", bytes));
  const Allocation allocation{.bytes = AlignUp(bytes, kGranularity),
                              .on_device = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged,
                              .in_host_part = kind != wire::MemoryKind::kDevice};
  TUTTI_TRY(Reserve(allocation));
  const auto address = [&] {
    std::lock_guard lock(changing_);
    return allocation.in_host_part ? host_part_.Take(allocation.bytes, alignment)
                                   : slabs_.Take(allocation.bytes, alignment);
  }();
  std::lock_guard lock(mutex_);
  if (!address) {
    Unreserve(allocation);
    return address;
  }
  allocations_.emplace(*address, allocation);
  if (allocation.on_device) TellUse();
  counters_->Add(metrics::Counter::allocations);
  return *address;
}

Status GpuMemory::Reserve(const Allocation& allocation) {
  const auto refuse = [&](std::string text) {
    counters_->Add(metrics::Counter::memory_limit_hits);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, std::move(text));
  };
  std::lock_guard lock(mutex_);
  const uint64_t bytes = allocation.bytes;
  if (!allocation.on_device) {
    if (accounts_.host->Reserve(bytes)) return {};
    return refuse(
        fmt::format("{} bytes of host memory: the client holds {} of {}, or its server has no more for all of them",
                    bytes, accounts_.host->used_bytes(), accounts_.host->limit_bytes()));
  }
  if (bytes > limit_ || used_ > limit_ - bytes)
    return refuse(fmt::format("{} bytes exceed the client's limit of {}", bytes, limit_));
  switch (accounts_.account->Reserve(bytes, accounts_.groups)) {
    case MemoryAccount::Answer::kGranted: used_ += bytes; return {};
    case MemoryAccount::Answer::kGroupFull:
      return refuse(fmt::format("{} bytes exceed the limit of the client's group", bytes));
    case MemoryAccount::Answer::kDeviceFull: break;
  }
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes are more than the device has left", bytes));
}

void GpuMemory::Unreserve(const Allocation& allocation) {
  if (allocation.on_device) {
    accounts_.account->Release(allocation.bytes, accounts_.groups);
    used_ -= allocation.bytes;
  } else {
    accounts_.host->Release(allocation.bytes);
  }
}

Status GpuMemory::CountModule(uint64_t bytes) {
  if (bytes == 0) return {};
  TUTTI_TRY(Reserve({.bytes = bytes, .on_device = true}));
  std::lock_guard lock(mutex_);
  of_modules_ += bytes;
  TellUse();
  return {};
}

void GpuMemory::RetireModule(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes != 0) CountFreed(static_cast<int64_t>(bytes));
}

void GpuMemory::ReleaseModule(uint64_t bytes, bool retired) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  of_modules_ -= bytes;
  Unreserve({.bytes = bytes, .on_device = true});
  TellUse();
  if (retired) CountFreed(-static_cast<int64_t>(bytes));
}

void GpuMemory::TellUse() {
  counters_->Set(metrics::Counter::memory_bytes, used_);
  counters_->Raise(metrics::Counter::memory_peak_bytes, used_);
  sink_->MemoryUsed(0, used_);
}

void GpuMemory::CountFreed(int64_t bytes) {
  freed_ += static_cast<uint64_t>(bytes);
  sink_->MemoryFreed(0, freed_);
}

Status GpuMemory::Retire(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation of the client begins at 0x{:x}", address));
  found->second.retired = true;
  if (found->second.on_device) CountFreed(static_cast<int64_t>(found->second.bytes));
  return {};
}

void GpuMemory::Release(uint64_t address) {
  Allocation allocation;
  {
    std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return;
    allocation = found->second;
    allocations_.erase(found);
  }
  {
    std::lock_guard lock(changing_);
    if (allocation.in_host_part) {
      host_part_.Give(address, allocation.bytes);
    } else {
      slabs_.Give(address, allocation.bytes);
    }
  }
  std::lock_guard lock(mutex_);
  Unreserve(allocation);
  if (!allocation.on_device) return;
  TellUse();
  if (allocation.retired) CountFreed(-static_cast<int64_t>(allocation.bytes));
}

Status GpuMemory::AttachTo(ExecutorLink& executor) {
  TUTTI_TRY(host_part_.AttachTo(executor));
  return slabs_.AttachTo(executor);
}

void GpuMemory::SetLimit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

}  // namespace tutti::device::gpu
