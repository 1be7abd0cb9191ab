// The device part of a window: memory that the executor maps by slabs. Small allocations are cut from slabs of the
// least size, larger ones have slabs of their own, which go back to the driver when they are freed.
//
// A slab with one allocation can be shared (device/gpu/shared_slab.h): that outlives the executor. A client's first few
// small allocations have slabs of their own, too, as long as that costs little.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/shared_slab.h"
#include "os/fd.h"

namespace tutti::device::gpu {

inline constexpr uint64_t kSlabBytes = 2u << 20;  // what addresses and sizes of slabs are multiples of

// Not thread-safe (GpuMemory holds the lock). Calls wait for the executor.
class Slabs {
 public:
  Slabs(CurrentExecutor* executor, uint64_t base, uint64_t bytes)
      : executor_(executor), addresses_(base, bytes, kSlabBytes) {}

  // Memory of zeros.
  Result<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  // With the size that was requested.
  void Give(uint64_t address, uint64_t bytes);
  // The bytes of the slab with the one allocation that begins there; nothing: it has others, too.
  std::optional<uint64_t> BytesOf(uint64_t address) const;
  // A descriptor of that slab's memory.
  Result<os::StrangersFd> Export(uint64_t address);
  // From now on a new executor shows that memory there, not new one.
  void Share(uint64_t address, const std::shared_ptr<SharedSlab>& memory) { slabs_.at(address).shared = memory; }
  // Maps memory in a new executor where the last one had slabs: what is shared, and new memory of zeros.
  Status AttachTo(ExecutorLink& executor);

 private:
  struct Slab {
    uint64_t bytes = 0;
    std::weak_ptr<SharedSlab> shared;
    std::optional<WindowAllocator> cut;  // into small allocations
    uint32_t allocations = 0;  // of these
    bool for_small = false;  // not cut, though its allocation is small
    uint64_t clean = 0;  // from here on it has never been handed out
  };
  Result<std::map<uint64_t, Slab>::iterator> Map(uint64_t bytes, uint64_t alignment, bool shareable);
  void Unmap(std::map<uint64_t, Slab>::iterator slab);
  Status Clear(uint64_t address, uint64_t bytes);

  CurrentExecutor* const executor_;
  WindowAllocator addresses_;
  std::map<uint64_t, Slab> slabs_;  // by address
  uint32_t for_small_ = 0;  // of these
};

}  // namespace tutti::device::gpu
