#include "device/cpu/device_heap.h"

#include <algorithm>

namespace tutti::device::cpu {

uint64_t DeviceHeap::Allocate(uint64_t bytes) {
  constexpr uint64_t kGranularity = 16;
  if (bytes > kHeapBytes) return 0;
  bytes = std::max<uint64_t>(bytes, 1);
  std::lock_guard lock(mutex_);
  if (allocator_ == nullptr) {
    const auto heap = memory_->Allocate(device_, wire::MemoryKind::kDevice, kHeapBytes, 0, WindowMemory::Holder::kDevice);
    if (!heap) return 0;
    allocator_ = std::make_unique<WindowAllocator>(*heap, kHeapBytes, kGranularity);
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
