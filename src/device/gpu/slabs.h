// The device part of a window: memory that the executor maps by slabs. Small allocations are cut from slabs of the
// least size, larger ones have slabs of their own, which go back to the driver when they are freed.
//
// A slab with one allocation can be shared (device/gpu/shared_slab.h). A client's first few small allocations have
// slabs of their own, too, as long as that costs little.
//
// Descriptors of slabs are held here, as far as this process may have so many: they are what keeps memory and its
// content when an executor ends, and another one maps them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/shared_slab.h"
#include "os/fd.h"

namespace tutti::device::gpu {

// Of allocations, of the host, too: any of them may be a texture's (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT of GPUs).
inline constexpr uint64_t kAllocationAlignment = 512;
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
  // Maps memory in a new executor where the last one had slabs: all of it as it was, or what is shared, and else new
  // memory of zeros.
  Status AttachTo(ExecutorLink& executor, bool as_it_was);
  // No descriptor is held any more.
  void LetGo();
  // Whether there is a descriptor of each. Thread-safe.
  bool all_held() const { return not_held_.load(std::memory_order_relaxed) == 0; }
  // Of what is held for the Space.
  const DescriptorPlace::OfSpace& held_of_space() const { return held_of_space_; }

 private:
  using FileNumber = std::pair<uint64_t, uint64_t>;
  struct Held {
    os::Fd file;  // closing it waits for nobody (device/gpu/lent_file.h)
    DescriptorPlace place;
  };
  struct Slab {
    uint64_t bytes = 0;
    Held held;
    std::weak_ptr<SharedSlab> shared;
    std::optional<WindowAllocator> cut;  // into small allocations
    uint32_t allocations = 0;  // of these
    bool for_small = false;  // not cut, though its allocation is small
    uint64_t clean = 0;  // from here on it has never been handed out
  };
  Result<std::map<uint64_t, Slab>::iterator> Map(uint64_t bytes, uint64_t alignment, bool shareable);
  // New memory, of which a descriptor is held if there is room for one. `ask` asks the executor.
  template <typename Ask>
  Status Make(uint64_t address, uint64_t bytes, bool shareable, Held* held, Ask ask);
  // It is held, if it can be what it is said to be.
  Status Hold(Held* held, os::StrangersFd file, uint64_t bytes);
  void Drop(Held* held);
  void Unmap(std::map<uint64_t, Slab>::iterator slab);
  Status Clear(uint64_t address, uint64_t bytes);

  CurrentExecutor* const executor_;
  WindowAllocator addresses_;
  std::map<uint64_t, Slab> slabs_;  // by address
  uint32_t for_small_ = 0;  // of these
  std::set<FileNumber> files_;  // that are held, of memory files
  std::atomic<uint32_t> not_held_{0};  // slabs
  const DescriptorPlace::OfSpace held_of_space_ = std::make_shared<std::atomic<uint32_t>>(0);
};

}  // namespace tutti::device::gpu
