#include "device/cpu/memory/window_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/checked.h"
#include "cuda/result.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kGranularity = 256;
constexpr uint64_t kConstantsShare = 16;  // of a window, which is larger than what it is for

}  // namespace

WindowMemory::WindowMemory(uint64_t window_base, const wire::WindowShape& shape, int window_fd,
                           std::span<MemoryAccount* const> accounts, HostShare* host, const MemoryGroups& groups,
                           Sink* sink, metrics::ClientCounters* counters)
    : base_(window_base),
      bytes_(shape.bytes),
      origin_(window_base + shape.host_bytes),
      device_part_reachable_(shape.device_part_reachable),
      constants_base_(window_base + shape.bytes - shape.bytes / kConstantsShare / kPageBytes * kPageBytes),
      fd_(window_fd),
      accounts_(accounts.begin(), accounts.end()),
      host_(host),
      groups_(accounts.size()),
      sink_(sink),
      counters_(counters),
      host_allocator_(window_base, shape.host_bytes, kGranularity, WindowAllocator::Grows::kDown),
      device_allocator_(origin_, constants_base_ - origin_, kGranularity),
      constants_allocator_(constants_base_, window_base + shape.bytes - constants_base_, kPageBytes),
      extent_(window_base, constants_base_ - window_base, window_fd, origin_),
      constants_extent_(WindowExtent::ReadOnly(constants_base_, window_base + shape.bytes - constants_base_, window_fd,
                                               constants_base_ - window_base)),
      used_(accounts.size()),
      freed_(accounts.size()),
      limits_(accounts.size(), kNoMemoryLimit) {
  for (const auto& group : groups) {
    if (group->device < groups_.size()) groups_[group->device].push_back(group);
  }
}

WindowMemory::~WindowMemory() {
  for (const auto& [address, allocation] : allocations_) Unreserve(allocation);
}

Result<uint64_t> WindowMemory::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment,
                                        Holder holder) {
  if (device >= accounts_.size())
    return Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment))) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size and an alignment that is a power of two");
  }
  if (bytes > bytes_)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes do not fit into the window", bytes));
  std::lock_guard lock(mutex_);
  const Allocation allocation{.bytes = device_allocator_.RoundUp(bytes),
                              .device = device,
                              .on_device = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged,
                              .holder = holder};
  TUTTI_TRY(Reserve(allocation));
  const auto address = Take(allocation, kind, alignment);
  if (!address) {
    Unreserve(allocation);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no room for {} bytes in the client's window", bytes));
  }
  if (auto opened = extent_.Open(*address, *address + allocation.bytes); !opened) {
    AllocatorOf(*address).Give(*address, allocation.bytes);
    Unreserve(allocation);
    return std::unexpected(opened.error());
  }
  allocations_.emplace(*address, allocation);
  if (allocation.on_device) CountUse(device, static_cast<int64_t>(allocation.bytes));
  counters_[device].Add(metrics::Counter::allocations);
  return *address;
}

std::optional<uint64_t> WindowMemory::Take(const Allocation& allocation, wire::MemoryKind kind, uint64_t alignment) {
  if (kind == wire::MemoryKind::kDevice) {
    const auto address = device_allocator_.Take(allocation.bytes, alignment);
    return address ? address : host_allocator_.Take(allocation.bytes, alignment);
  }
  const auto address = host_allocator_.Take(allocation.bytes, alignment);
  return address || !device_part_reachable_ ? address : device_allocator_.Take(allocation.bytes, alignment);
}

Status WindowMemory::Reserve(const Allocation& allocation) {
  if (allocation.on_device) return ReserveOnDevice(allocation.device, allocation.bytes);
  if (host_->Reserve(allocation.bytes)) return {};
  counters_[allocation.device].Add(metrics::Counter::memory_limit_hits);
  return Fail(
      cuda::CUDA_ERROR_OUT_OF_MEMORY,
      fmt::format("{} bytes of host memory: the client holds {} of {}, or its server has no more for all of them",
                  allocation.bytes, host_->used_bytes(), host_->limit_bytes()));
}

void WindowMemory::Unreserve(const Allocation& allocation) {
  if (allocation.on_device) {
    accounts_[allocation.device]->Release(allocation.bytes, groups_[allocation.device]);
  } else {
    host_->Release(allocation.bytes);
  }
}

Status WindowMemory::ReserveOnDevice(uint32_t device, uint64_t bytes) {
  const auto refuse = [&](std::string text) {
    counters_[device].Add(metrics::Counter::memory_limit_hits);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, std::move(text));
  };
  if (bytes > limits_[device] || used_[device] > limits_[device] - bytes) {
    return refuse(fmt::format("{} bytes exceed the client's limit of {}", bytes, limits_[device]));
  }
  switch (accounts_[device]->Reserve(bytes, groups_[device])) {
    case MemoryAccount::Answer::kGranted: return {};
    case MemoryAccount::Answer::kGroupFull:
      return refuse(fmt::format("{} bytes exceed the limit of the client's group", bytes));
    case MemoryAccount::Answer::kDeviceFull: break;
  }
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes are more than device {} has left", bytes, device));
}

void WindowMemory::CountUse(uint32_t device, int64_t bytes) {
  used_[device] += static_cast<uint64_t>(bytes);
  counters_[device].Set(metrics::Counter::memory_bytes, used_[device]);
  counters_[device].Raise(metrics::Counter::memory_peak_bytes, used_[device]);
  sink_->MemoryUsed(device, used_[device]);
}

void WindowMemory::CountFreed(uint32_t device, int64_t bytes) {
  freed_[device] += static_cast<uint64_t>(bytes);
  sink_->MemoryFreed(device, freed_[device]);
}

Status WindowMemory::Retire(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || found->second.holder != Holder::kClient) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation of the client begins at 0x{:x}", address));
  }
  found->second.retired = true;
  if (found->second.on_device) CountFreed(found->second.device, static_cast<int64_t>(found->second.bytes));
  return {};
}

void WindowMemory::Release(uint64_t address) {
  Allocation allocation;
  {
    std::lock_guard lock(mutex_);
    allocation = allocations_.at(address);
  }
  // Not yet reachable by others, so the expensive part needs no lock: zeroes partial pages, frees whole ones.
  const uint64_t end = address + allocation.bytes;
  Punch(address, end);

  std::lock_guard lock(mutex_);
  allocations_.erase(address);
  const auto [free_begin, free_bytes] = AllocatorOf(address).Give(address, allocation.bytes);
  // The pages at both ends may have become entirely free.
  const uint64_t first = std::max(AlignUp(free_begin, kPageBytes), address / kPageBytes * kPageBytes);
  const uint64_t last = std::min((free_begin + free_bytes) / kPageBytes * kPageBytes, AlignUp(end, kPageBytes));
  if (first < last && (first < address || last > end)) Punch(first, last);
  Unreserve(allocation);
  if (!allocation.on_device) return;
  CountUse(allocation.device, -static_cast<int64_t>(allocation.bytes));
  if (allocation.retired) CountFreed(allocation.device, -static_cast<int64_t>(allocation.bytes));
}

Result<uint64_t> WindowMemory::AllocateConstants(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const Allocation allocation{.bytes = constants_allocator_.RoundUp(bytes), .holder = Holder::kDevice};
  TUTTI_TRY(Reserve(allocation));
  const auto address = constants_allocator_.Take(allocation.bytes, kPageBytes);
  if (!address) {
    Unreserve(allocation);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("no room for {} bytes of constants in the client's window", bytes));
  }
  if (auto opened = constants_extent_.Open(*address, *address + allocation.bytes); !opened) {
    constants_allocator_.Give(*address, allocation.bytes);
    Unreserve(allocation);
    return std::unexpected(opened.error());
  }
  allocations_.emplace(*address, allocation);
  return *address;
}

Status WindowMemory::WriteConstants(uint64_t address, std::span<const uint8_t> bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(address - base_ + done));
    if (count <= 0) return FailErrno("writing constants", cuda::CUDA_ERROR_OUT_OF_MEMORY);
    done += static_cast<size_t>(count);
  }
  return {};
}

bool WindowMemory::HasConstants(uint64_t address, uint64_t bytes) const {
  return bytes != 0 && address + bytes > constants_base_ && address < base_ + bytes_;
}

bool WindowMemory::MayTouch(uint64_t address, uint64_t bytes, bool writes) const {
  return extent_.Holds(address, bytes) || (!writes && constants_extent_.Holds(address, bytes));
}

void WindowMemory::NameNearest(Fault* fault) const {
  std::lock_guard lock(mutex_);
  uint64_t nearest = ~0ull;
  for (const auto& [address, allocation] : allocations_) {
    const uint64_t end = address + allocation.bytes;
    const uint64_t distance = fault->address < address ? address - fault->address
                              : fault->address >= end  ? fault->address - end + 1
                                                       : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    fault->allocation = address;
    fault->allocation_bytes = allocation.bytes;
  }
  if (nearest == ~0ull) return;
  const std::string where = nearest == 0                         ? "in"
                            : fault->address < fault->allocation ? fmt::format("{} bytes before", nearest)
                                                                 : fmt::format("{} bytes behind", nearest - 1);
  fault->report +=
      fmt::format("; that is {} the {} bytes allocated at 0x{:x}", where, fault->allocation_bytes, fault->allocation);
}

void WindowMemory::Punch(uint64_t begin, uint64_t end) const {
  // Cannot fail on our own memory file; if it did, only stale data of the same client would be seen.
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin - base_),
            static_cast<off_t>(end - begin));
}

void WindowMemory::SetLimits(const std::vector<uint64_t>& limits) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < limits_.size(); ++i) limits_[i] = i < limits.size() ? limits[i] : kNoMemoryLimit;
}

}  // namespace tutti::device::cpu
