// A Space's memory on a GPU: allocations in the two parts of its window, counted against the device, host memory and
// limits. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/host_part.h"
#include "device/gpu/reserved_part.h"
#include "device/gpu/shared_slab.h"
#include "device/gpu/shared_words.h"
#include "device/gpu/slabs.h"
#include "device/host_share.h"
#include "wire/window_shape.h"

namespace tutti::device::gpu {

class GpuMemory {
 public:
  // What memory is counted against, besides the client's limits.
  struct Accounts {
    MemoryAccount* account = nullptr;  // the device's
    HostShare* host = nullptr;
    MemoryGroups groups = {};
    bool fenced = false;  // its kernels are: what their fence has counts as the device's and the host's
  };
  // `window`: the memory file of the host part. What it is given outlives it.
  static Result<std::unique_ptr<GpuMemory>> Create(CurrentExecutor* executor, uint64_t base,
                                                   const wire::WindowShape& shape, int window, Accounts accounts,
                                                   Sink* sink, metrics::ClientCounters* counters);
  ~GpuMemory();

  uint64_t base() const { return base_; }
  // Whether these bytes lie in the window; and have memory there, for writing if that is asked for, where addresses are
  // reserved.
  bool Contains(uint64_t address, uint64_t bytes, bool writes) const;
  uint8_t* Reached(uint64_t address, uint64_t bytes) const { return host_part_.Reached(address, bytes); }

  // The client cannot free what the device holds for itself (of a module).
  enum class Holder : uint8_t { kClient, kDevice };
  Result<uint64_t> Allocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment, Holder holder = Holder::kClient);
  // Its holder frees the allocation that begins at `address`: INVALID_VALUE if it holds none. The memory stays until
  // Release, when earlier work is done.
  Status Retire(uint64_t address, Holder holder = Holder::kClient);
  void Release(uint64_t address);

  // See Space.
  Result<uint64_t> ReserveAddresses(uint64_t bytes, uint64_t alignment, uint64_t wish);
  // Of an array: nothing is mapped there.
  Result<uint64_t> ReserveForArray(uint64_t bytes);
  Result<std::shared_ptr<SharedMemory>> Share(uint64_t address);
  // Of scratch memory.
  Result<std::shared_ptr<SharedMemory>> ShareWords(uint64_t address);
  Status Map(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable);
  Status Unmap(uint64_t address, uint64_t bytes);

  // An aligned word of those that are shared, its own or others'. Does not wait.
  struct Word {
    std::shared_ptr<SharedWords> in;  // null: there is none
    uint64_t offset = 0;
  };
  Word FindWord(uint64_t address, uint32_t bytes, bool writes) const;
  // Its Space has ended: nobody waits for its words any more.
  void EndWords();

  // Counts memory that the driver takes for a module or an array, or by a limit of the context, which is not in the
  // window. OUT_OF_MEMORY where it is too much.
  Status CountForDriver(uint64_t bytes);
  // The same of what the driver has taken already, and is to give back: it counts, whatever is left.
  void CountTaken(uint64_t bytes);
  // Of which no more than so much can be counted now.
  uint64_t LeftForDriver() const;
  // The client, or a group of it, may not have all of the device.
  bool is_limited() const;
  void RetireOfDriver(uint64_t bytes);  // it is to be given back
  void ReleaseOfDriver(uint64_t bytes, bool retired = true);

  void SetLimit(uint64_t bytes);

  // Its Space ends before it: nobody is told anything more.
  void Orphan();

  // A new executor has what the last one had: `as_it_was`, or what was in the device part and is not shared as memory
  // of zeros. With CurrentExecutor::Replacing; while nothing else is called.
  Status AttachTo(ExecutorLink& executor, bool as_it_was);
  // Whether it could have all of it as it was: there are descriptors. Does not wait.
  bool outlives_executors() const { return slabs_.all_held(); }
  // For a descriptor that is held for a new executor.
  DescriptorPlace PlaceForHeld() const { return {DescriptorPlace::Use::kHeld, slabs_.held_of_space()}; }

 private:
  struct Allocation {
    uint64_t bytes = 0;
    bool on_device = false;  // counts as the device's
    bool in_host_part = false;
    bool scratch = false;
    bool of_device = false;  // Holder::kDevice
    bool addresses = false;  // no memory of its own
    bool retired = false;
    std::shared_ptr<SharedSlab> own;  // until it is retired, if it is shared
    std::weak_ptr<SharedSlab> shared;
  };
  GpuMemory(CurrentExecutor* executor, uint64_t base, const wire::WindowShape& shape, HostPart host_part,
            Accounts accounts, Sink* sink, metrics::ClientCounters* counters);
  Status Reserve(const Allocation& allocation);
  void Unreserve(const Allocation& allocation);
  void TellUse();
  void CountFreed(int64_t bytes);
  Result<uint64_t> NoteAddresses(std::optional<uint64_t> address, uint64_t bytes);
  Result<Allocation*> FindShareable(uint64_t address);
  Result<std::shared_ptr<SharedMemory>> ShareNow(uint64_t address);
  Status MapNow(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable);
  void Hide(const ReservedPart::Mappings& mappings);
  // Of memory that it has released.
  void NobodyHolds(uint64_t bytes);
  // As a context's memory does, it counts as the device's, not against the client's limit.
  Status CountFence();

  const uint64_t base_;
  const uint64_t bytes_;
  const Accounts accounts_;
  Sink* const sink_;
  metrics::ClientCounters* const counters_;

  CurrentExecutor* const executor_;
  std::mutex changing_;  // held while the executor is asked
  HostPart host_part_;
  Slabs slabs_;
  mutable std::mutex mutex_;  // the rest; never waits
  ReservedPart reserved_;  // changed with both locks
  std::unordered_map<uint64_t, Allocation> allocations_;
  std::map<uint64_t, std::shared_ptr<SharedWords>> own_words_;  // by address, until they are released
  uint64_t used_ = 0;
  uint64_t freed_ = 0;  // of used_: retired
  uint64_t of_driver_ = 0;  // of used_
  uint64_t of_fence_ = 0;  // not of used_
  HostHold fence_on_host_;
  uint64_t limit_ = kNoMemoryLimit;
  const std::shared_ptr<SharedSlab::Home> home_ = std::make_shared<SharedSlab::Home>();
};

}  // namespace tutti::device::gpu
