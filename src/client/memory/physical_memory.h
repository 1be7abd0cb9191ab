// Physical memory without an address (cuMemCreate): counted from its creation on, visible where it is mapped
// (client/memory/virtual_memory.h).
//
// The server grants it like any other allocation, its *home*, so it counts against the limit and the device at once. A
// mapped piece does not use its home: its bytes lie in the pages of the reserved range it is mapped to, and the home's
// pages are never touched, so they cost nothing. When a piece is mapped elsewhere, its bytes are moved, and only then.
// The price: a piece cannot be mapped twice at once.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/session/attachment.h"
#include "cuda/types.h"

namespace tutti::client {

class Device;

// Not thread-safe: VirtualMemory holds the lock. Find is thread-safe.
class PhysicalMemory {
 public:
  static constexpr uint64_t kGranularity = 2u << 20;

  PhysicalMemory(Device& device, uint64_t bytes, uint64_t home, const cuda::CUmemAllocationProp& properties)
      : device_(device), attachment_(&Attachment::Get()), bytes_(bytes), home_(home), properties_(properties) {}

  // Null also for memory of an ended session.
  static PhysicalMemory* Find(cuda::CUmemGenericAllocationHandle handle) {
    PhysicalMemory* const found = pool_.Find(reinterpret_cast<const void*>(handle));
    return found != nullptr && found->attachment_ == &Attachment::Get() ? found : nullptr;
  }
  // OUT_OF_MEMORY over the limit or the device's size.
  static Answer<PhysicalMemory*> Create(Device& device, uint64_t bytes, const cuda::CUmemAllocationProp& properties);

  cuda::CUmemGenericAllocationHandle handle() const { return reinterpret_cast<uint64_t>(this); }
  Device& device() const { return device_; }
  uint64_t bytes() const { return bytes_; }
  const cuda::CUmemAllocationProp& properties() const { return properties_; }

  bool mapped() const { return mapped_; }
  // Where its bytes are now; 0: it was never mapped, all are zero.
  uint64_t content() const { return content_; }
  // Moves its bytes to `address`.
  void MapTo(uint64_t address);
  void Unmap() { mapped_ = false; }
  // For an unmapped piece: moves its bytes out of the range of its last mapping, which is about to be reused.
  void GoHome() { MoveTo(home_); }

  void Retain() { ++references_; }
  // False if its last reference is gone.
  bool Release() { return --references_ != 0; }
  bool held() const { return references_ != 0; }
  // Frees the memory, which is neither referenced nor mapped.
  static void Destroy(PhysicalMemory* memory);

 private:
  void MoveTo(uint64_t address);

  static constinit Pool<PhysicalMemory, 1 << 18> pool_;

  Device& device_;
  const Attachment* const attachment_;
  const uint64_t bytes_;
  const uint64_t home_;
  const cuda::CUmemAllocationProp properties_;
  uint64_t content_ = 0;
  bool mapped_ = false;
  unsigned references_ = 1;
};

}  // namespace tutti::client
