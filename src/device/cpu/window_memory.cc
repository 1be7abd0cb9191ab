#include "device/cpu/window_memory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "cuda/result.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kGranularity = 256;
constexpr uint64_t kNoLimit = ~0ull;

}  // namespace

WindowMemory::WindowMemory(uint64_t window_base, uint64_t window_bytes, int window_fd,
                           std::span<MemoryAccount* const> accounts, Sink* sink)
    : base_(window_base),
      bytes_(window_bytes),
      fd_(window_fd),
      accounts_(accounts.begin(), accounts.end()),
      sink_(sink),
      allocator_(window_base, window_bytes, kGranularity),
      used_(accounts.size()),
      limits_(accounts.size(), kNoLimit) {}

WindowMemory::~WindowMemory() {
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.counted) accounts_[allocation.device]->Release(allocation.bytes);
  }
}

Result<uint64_t> WindowMemory::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  if (device >= accounts_.size())
    return Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment))) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size and an alignment that is a power of two");
  }
  if (bytes > bytes_)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes do not fit into the window", bytes));
  const bool counted = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged;
  std::lock_guard lock(mutex_);
  bytes = allocator_.RoundUp(bytes);
  if (counted) {
    if (bytes > limits_[device] || used_[device] > limits_[device] - bytes) {
      return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                  fmt::format("{} bytes are over the client's limit of {}", bytes, limits_[device]));
    }
    if (!accounts_[device]->Reserve(bytes)) {
      return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                  fmt::format("{} bytes are more than device {} has left", bytes, device));
    }
  }
  const auto address = allocator_.Take(bytes, alignment);
  if (!address) {
    if (counted) accounts_[device]->Release(bytes);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no room for {} bytes in the client's window", bytes));
  }
  allocations_.emplace(*address, Allocation{.bytes = bytes, .device = device, .counted = counted});
  if (counted) {
    used_[device] += bytes;
    sink_->MemoryUsed(device, used_[device]);
  }
  return *address;
}

Status WindowMemory::Retire(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation begins at 0x{:x}", address));
  }
  found->second.retired = true;
  return {};
}

void WindowMemory::Release(uint64_t address) {
  Allocation allocation;
  {
    std::lock_guard lock(mutex_);
    allocation = allocations_.at(address);
  }
  // Nobody else can have it yet, so the expensive part needs no lock. Parts of pages are zeroed by this, whole ones
  // freed.
  const uint64_t end = address + allocation.bytes;
  Punch(address, end);

  std::lock_guard lock(mutex_);
  allocations_.erase(address);
  const auto [free_begin, free_bytes] = allocator_.Give(address, allocation.bytes);
  // The pages at both ends may have become free as a whole.
  const uint64_t first = std::max(AlignUp(free_begin, kPageBytes), address / kPageBytes * kPageBytes);
  const uint64_t last = std::min((free_begin + free_bytes) / kPageBytes * kPageBytes, AlignUp(end, kPageBytes));
  if (first < last && (first < address || last > end)) Punch(first, last);
  Uncount(allocation);
}

void WindowMemory::Uncount(const Allocation& allocation) {
  if (!allocation.counted) return;
  accounts_[allocation.device]->Release(allocation.bytes);
  used_[allocation.device] -= allocation.bytes;
  sink_->MemoryUsed(allocation.device, used_[allocation.device]);
}

void WindowMemory::Punch(uint64_t begin, uint64_t end) const {
  // Cannot fail on a memory file of ours; if it did, stale data of the same client would be all that is seen.
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin - base_),
            static_cast<off_t>(end - begin));
}

void WindowMemory::SetLimits(const std::vector<uint64_t>& limits) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < limits_.size(); ++i) limits_[i] = i < limits.size() ? limits[i] : kNoLimit;
}

uint64_t WindowMemory::used_bytes() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(used_.begin(), used_.end(), uint64_t{0});
}

}  // namespace tutti::device::cpu
