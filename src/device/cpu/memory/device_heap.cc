#include "device/cpu/memory/device_heap.h"

#include <algorithm>

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kGranularity = 16;

}  // namespace

void DeviceHeap::SetLimit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (allocator_ == nullptr) bytes_ = bytes - bytes % kGranularity;
}

uint64_t DeviceHeap::Allocate(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  std::lock_guard lock(mutex_);
  if (bytes > bytes_) return 0;
  if (allocator_ == nullptr) {
    const auto heap = memory_->Allocate(device_, wire::MemoryKind::kDevice, bytes_, 0, WindowMemory::Holder::kDevice);
    if (!heap) return 0;
    allocator_ = std::make_unique<WindowAllocator>(*heap, bytes_, kGranularity);
  }
  const auto address = allocator_->Take(bytes, kGranularity);
  if (!address) return 0;
  allocations_.emplace(*address, bytes);
  return *address;
}

void DeviceHeap::Release(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  allocator_->Give(address, found->second);
  allocations_.erase(found);
}

}  // namespace tutti::device::cpu
