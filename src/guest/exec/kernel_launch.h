// One launch of a kernel: what all its blocks share. Constant while blocks run, but for what `newest` points to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "guest/cpu/kernel_abi.h"
#include "guest/device_runtime.h"
#include "guest/guest_memory.h"

namespace tutti::guest {

struct KernelLaunch;

// What a block needs from whoever launched it. Called on the worker's own stack, unless noted. Thread-safe.
class KernelHost {
 public:
  virtual ~KernelHost() = default;
  // vprintf: `format` and `arguments` are guest addresses. Returns what printf returns in device code.
  virtual int32_t Print(const GuestMemory& memory, uint64_t format, uint64_t arguments) = 0;
  virtual uint64_t HeapAllocate(uint64_t bytes) = 0;
  virtual void HeapRelease(uint64_t address) = 0;
  struct Assertion {
    uint64_t message, file, function;  // guest addresses of texts
    uint32_t line;
    uint32_t block[3];
    uint32_t thread[3];
  };
  virtual void AssertFailed(const GuestMemory& memory, const Assertion& assertion) = 0;
  // cudaGraphSetConditional: false if there is no such condition.
  virtual bool SetCondition(uint64_t condition, uint32_t value) = 0;
  // Whether a kernel may read these bytes of the window, or write them. Asked for what lies beyond the reach that its
  // block began with; on the guest's stack: takes no lock, allocates nothing.
  virtual bool MayTouch(uint64_t address, uint64_t bytes, bool writes) const = 0;
  // A function of the device runtime, but those of the thread's last error.
  virtual void CallRuntime(const KernelLaunch& /*launch*/, RuntimeCall* call) {
    call->error = RuntimeError::kNotSupported;
  }
};

constexpr uint32_t kSharedUnitBytes = 128;  // PTX ISA, %total_smem_size: sm_80 and later

struct KernelLaunch {
  const KernelDescriptor* descriptor = nullptr;
  // Where better code of the same kernel may appear, for blocks that begin from then on: `descriptor` but for how it
  // runs. Null: nowhere, as for blocks that run together, in clusters or cooperative launches.
  const std::atomic<const KernelDescriptor*>* newest = nullptr;
  KernelHost* host = nullptr;
  uint64_t owner = 0;  // a number of the client, never reused: blocks' memory is cleared when it changes
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  bool explicit_cluster = false;  // somebody asked for it, be it of one block
  uint32_t dynamic_shared_bytes = 0;
  const uint8_t* params = nullptr;
  uint64_t module_base = 0;
  uint64_t constants_base = 0;
  uint64_t window_base = 0;
  uint64_t window_bytes = 0;
  // The part of the window that can be written: it grows at both ends while blocks run. Null: all of it.
  const std::atomic<uint64_t>* reach_begin = nullptr;
  const std::atomic<uint64_t>* reach_end = nullptr;
  uint64_t grid_id = 0;
  uint64_t cooperative_workspace = 0;
  bool cooperative = false;
  uint32_t param_bytes = 0;
  uint32_t sm_count = 1;
  void* operation = nullptr;  // the host's own

  // The code of blocks that begin now. Acquire: makes visible what was loaded before it was stored.
  const KernelDescriptor* Newest() const {
    return newest != nullptr ? newest->load(std::memory_order_acquire) : descriptor;
  }

  // Where the code of its blocks sees that.
  const KernelDescriptor* const* PlaceOfNewest() const {
    using Place = std::atomic<const KernelDescriptor*>;
    static_assert(sizeof(Place) == sizeof(const KernelDescriptor*) && Place::is_always_lock_free);
    return newest != nullptr ? reinterpret_cast<const KernelDescriptor* const*>(newest) : &descriptor;
  }

  uint32_t threads() const { return block[0] * block[1] * block[2]; }
  uint32_t warps() const { return (threads() + kWarpSize - 1) / kWarpSize; }
  uint64_t blocks() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }
  // BlockRuns that it takes: one for each block, or for each cluster of several.
  uint64_t runs() const { return blocks() / cluster_blocks(); }
  uint32_t dynamic_shared_offset() const { return (descriptor->static_shared_bytes + 15) & ~15u; }
  // In whole units, as a GPU allocates it: compilers of PTX read vectors of which they use a part, up to that boundary.
  uint32_t shared_bytes() const { return AlignUp(dynamic_shared_offset() + dynamic_shared_bytes, kSharedUnitBytes); }

  // Async-signal-safe.
  uint64_t ReachBegin() const {
    return reach_begin != nullptr ? reach_begin->load(std::memory_order_acquire) : window_base;
  }
  uint64_t ReachEnd() const {
    return reach_end != nullptr ? reach_end->load(std::memory_order_acquire) : window_base + window_bytes;
  }

  // Coordinates of a block: cluster by cluster, x fastest among clusters and in each.
  void BlockAt(uint64_t index, uint32_t ctaid[3], uint32_t cluster_ctaid[3]) const;
};

}  // namespace tutti::guest
