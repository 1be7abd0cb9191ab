// The host part of a window: a memory file that client and server map, and that the executor makes memory of the
// device, at the same addresses as in the client, step by step as it is used.
//
// What is freed is cleared, not given back to the system: the device keeps the pages that it was shown. So these count
// as the client's as long as it is there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/host_segments.h"
#include "device/host_share.h"
#include "os/memory.h"

namespace tutti::device::gpu {

// Not thread-safe (GpuMemory holds the lock), but for what is const. Calls wait for the executor.
class HostPart {
 public:
  // [base, base + bytes), of the whole of `file`. What the device is shown is reserved in `host`.
  static Result<HostPart> Create(CurrentExecutor* executor, uint64_t base, int file, uint64_t bytes, HostShare* host);

  // Memory of zeros. OUT_OF_MEMORY if there are no addresses, or no more for the client.
  Result<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  void Give(uint64_t address, uint64_t bytes);

  // Where this process has these bytes; null if they are not of this part.
  uint8_t* Reached(uint64_t address, uint64_t bytes) const {
    const bool inside = address >= base_ && InRange<uint64_t>(address - base_, bytes, mapping_.size());
    return inside ? mapping_.data() + (address - base_) : nullptr;
  }
  // What is attached to the last executor is to a new one, too.
  Status AttachTo(ExecutorLink& executor) const;

 private:
  HostPart(CurrentExecutor* executor, uint64_t base, os::Mapping mapping, HostShare* host);
  Status AttachFor(uint64_t bytes, uint64_t alignment);

  CurrentExecutor* executor_;
  HostShare* host_;
  uint64_t base_;
  os::Mapping mapping_;
  HostSegments segments_;  // that the executor has
  std::vector<HostHold> held_;  // for them
};

}  // namespace tutti::device::gpu
