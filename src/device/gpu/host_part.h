// The host part of a window: a memory file that client and server map, and that the executor makes memory of the
// device, at the same addresses as in the client, step by step as it is used.
//
// What is freed is cleared, not given back to the system: the device keeps the pages that it was shown.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/gpu/current_executor.h"
#include "os/memory.h"

namespace tutti::device::gpu {

// Not thread-safe (GpuMemory holds the lock), but for what is const. Calls wait for the executor.
class HostPart {
 public:
  // [base, base + bytes), of the whole of `file`.
  static Result<HostPart> Create(CurrentExecutor* executor, uint64_t base, int file, uint64_t bytes);

  // Memory of zeros.
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
  HostPart(CurrentExecutor* executor, uint64_t base, os::Mapping mapping);
  Status AttachDownTo(uint64_t address);
  uint64_t end() const { return base_ + mapping_.size(); }

  CurrentExecutor* executor_;
  uint64_t base_;
  os::Mapping mapping_;
  WindowAllocator allocator_;
  uint64_t attached_;  // from here to the end
};

}  // namespace tutti::device::gpu
