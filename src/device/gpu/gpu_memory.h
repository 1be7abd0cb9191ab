// A Space's memory on a GPU: allocations in the two parts of its window, counted against the device, host memory and
// limits. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/host_part.h"
#include "device/gpu/slabs.h"
#include "device/host_share.h"
#include "wire/window_shape.h"

namespace tutti::device::gpu {

class GpuMemory {
 public:
  // What it is given outlives it.
  GpuMemory(ExecutorLink* executor, uint64_t base, const wire::WindowShape& shape, HostPart host_part,
            MemoryAccount* account, HostShare* host, const MemoryGroups& groups, Sink* sink,
            metrics::ClientCounters* counters);
  ~GpuMemory();

  uint64_t base() const { return base_; }
  int host_fd() const { return host_part_.fd(); }
  // Whether these bytes lie in the window.
  bool Contains(uint64_t address, uint64_t bytes) const {
    return address >= base_ && InRange<uint64_t>(address - base_, bytes, bytes_);
  }
  uint8_t* Reached(uint64_t address, uint64_t bytes) const { return host_part_.Reached(address, bytes); }

  Result<uint64_t> Allocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment);
  // The client frees the allocation that begins at `address`: INVALID_VALUE if it holds none. The memory stays until
  // Release, when earlier work is done.
  Status Retire(uint64_t address);
  void Release(uint64_t address);

  void SetLimit(uint64_t bytes);

 private:
  struct Allocation {
    uint64_t bytes = 0;
    bool on_device = false;  // counts as the device's
    bool in_host_part = false;
    bool retired = false;
  };
  Status Reserve(const Allocation& allocation);
  void Unreserve(const Allocation& allocation);
  void CountUse(int64_t bytes);
  void CountFreed(int64_t bytes);

  const uint64_t base_;
  const uint64_t bytes_;
  MemoryAccount* const account_;
  HostShare* const host_;
  const MemoryGroups groups_;
  Sink* const sink_;
  metrics::ClientCounters* const counters_;

  std::mutex mutex_;
  HostPart host_part_;
  Slabs slabs_;
  std::unordered_map<uint64_t, Allocation> allocations_;
  uint64_t used_ = 0;
  uint64_t freed_ = 0;  // of used_: retired
  uint64_t limit_ = kNoMemoryLimit;
};

}  // namespace tutti::device::gpu
