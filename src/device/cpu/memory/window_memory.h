// A Space's memory: allocations in its window, counted against devices, host memory and limits. Thread-safe.
//
// Freed memory returns to the system at once (holes punched into the window's file) and reads as zero when allocated
// again, so no use sees data of an earlier one.
//
// Memory of the host and of the device has parts of its own (wire/window_shape.h); each grows away from the other, so
// what kernels may write is one range. If one part is full the other is used, as far as clients can reach it.
//
// Behind the device's memory lie reserved addresses (device/cpu/memory/address_ranges.h), and behind them, at the end
// of the window, constants, which are mapped read-only. The device's own copies write them through the memory file.
//
// Small memory of the device has pages of its own as long as that costs little: only whole pages can be shared. Large
// memory of the device begins at huge pages, and is given some (device/cpu/memory/huge_page_maker.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/cpu/memory/address_ranges.h"
#include "device/cpu/memory/fresh_memory.h"
#include "device/cpu/memory/huge_page_maker.h"
#include "device/cpu/memory/shared_range.h"
#include "device/cpu/memory/window_extent.h"
#include "device/device.h"
#include "device/host_share.h"
#include "device/memory_account.h"
#include "wire/window_shape.h"

namespace tutti::device::cpu {

class WindowMemory final : private HugePageMaker::Memory {
 public:
  // `accounts`: one per device, outliving this, as do `host`, `maker`, `sink` and `counters`. `file`: the window's.
  WindowMemory(uint64_t window_base, const wire::WindowShape& shape, std::shared_ptr<const os::Fd> file,
               std::span<MemoryAccount* const> accounts, HostShare* host, HugePageMaker* maker,
               const MemoryGroups& groups, Sink* sink, metrics::ClientCounters* counters);
  ~WindowMemory();

  uint64_t base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  // Around all that kernels may write: to acquire.
  const std::atomic<uint64_t>& reach_begin() const { return extent_.begin(); }
  const std::atomic<uint64_t>& reach_end() const { return reach_end_; }
  // Whether a kernel may read, or write, these bytes of the window. Async-signal-safe.
  bool MayTouch(uint64_t address, uint64_t bytes, bool writes) const;

  // Zeroed memory. OUT_OF_MEMORY over the limit, the device's size or the window. The client cannot free what the
  // device holds for itself (of a module, say).
  enum class Holder : uint8_t { kClient, kDevice };
  Result<uint64_t> Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment, Holder holder);
  // Zeroed memory for constants, on whole pages, counted as host memory; held by the device.
  Result<uint64_t> AllocateConstants(uint64_t bytes);
  // Writes the device's own data there.
  Status WriteConstants(uint64_t address, std::span<const uint8_t> bytes) const;
  // Addresses without memory, freed like memory.
  Result<uint64_t> Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish);
  // See Space::Share, Map, Unmap and Word. Nobody new may come to hold what was shared while this ends.
  Result<std::shared_ptr<SharedMemory>> Share(uint64_t address, Space::AtEnd end);
  Status Map(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable);
  Status Unmap(uint64_t address, uint64_t bytes);
  Result<uint64_t> Word(uint64_t address, uint32_t bytes, uint64_t add);
  // Whether an aligned word of 8 bytes there is a counter that clients share; and raises it if it still is.
  bool IsCounter(uint64_t address) const;
  void StoreCounter(uint64_t address, uint64_t value);
  // The client frees the allocation that begins at `address`: INVALID_VALUE if it holds none. The memory stays until
  // Release, when earlier work is done.
  Status Retire(uint64_t address);
  void Release(uint64_t address);

  // Whether some of these bytes lie in the constants' part, and whether all do where there are constants.
  bool HasConstants(uint64_t address, uint64_t bytes) const;
  bool HoldsConstants(uint64_t address, uint64_t bytes) const { return constants_extent_.Holds(address, bytes); }
  // The window's memory file, for writers of constants.
  int fd() const { return file_->get(); }

  // Completes a fault report for an address: the nearest allocation, and the side of it.
  void NameNearest(Fault* fault) const;

  // Per device; empty: no limit. What is held above a new limit stays.
  void SetLimits(const std::vector<uint64_t>& limits);

 private:
  struct Allocation {
    uint64_t bytes = 0;
    uint32_t device = 0;
    enum class Counts : uint8_t { kOnDevice, kAsHostMemory, kNowhere } counts = Counts::kAsHostMemory;
    bool retired = false;
    bool released = false;  // but somebody it is shared with still holds it
    bool may_be_shared = false;
    bool small = false;  // less than its page
    Space::AtEnd end = Space::AtEnd::kKept;
    Holder holder = Holder::kClient;
    uint64_t share = 0;  // number of the newest SharedRange; 0: none
    std::shared_ptr<SharedRange> own;  // until it is retired
    std::weak_ptr<SharedRange> shared;

    bool on_device() const { return counts == Counts::kOnDevice; }
  };
  Made MakeOne() override;
  Status Reserve(const Allocation& allocation);
  Status ReserveOnDevice(uint32_t device, uint64_t bytes);
  void Unreserve(const Allocation& allocation);
  void StopCounting(Allocation* allocation);
  void CountUse(uint32_t device, int64_t bytes);
  void CountFreed(uint32_t device, int64_t bytes);
  void Punch(uint64_t begin, uint64_t end) const;
  bool TakesWholePages(wire::MemoryKind kind, uint64_t bytes, Holder holder) const;
  void PublishReach();
  bool HoldsCounter(uint64_t address) const;
  const std::shared_ptr<SharedRange::Home>& HomeOfShared();
  void NobodyHolds(uint64_t address, uint64_t share);
  void LeaveToHolders();
  void Return(uint64_t address);
  // Large memory of the device at huge pages, if there is room for that. Of the part that memory of this kind belongs
  // to, or else of the other one.
  std::optional<uint64_t> Take(const Allocation& allocation, wire::MemoryKind kind, uint64_t alignment);
  std::optional<uint64_t> TakeAligned(uint64_t bytes, wire::MemoryKind kind, uint64_t alignment);
  WindowAllocator& AllocatorOf(uint64_t address) {
    return address < origin_ ? host_allocator_ : address < constants_base_ ? device_allocator_ : constants_allocator_;
  }

  const uint64_t base_;
  const uint64_t bytes_;
  const uint64_t origin_;  // where the device part begins
  const bool device_part_reachable_;
  const uint64_t addresses_base_;  // from here to the constants
  const uint64_t constants_base_;  // from here to the window's end
  const std::shared_ptr<const os::Fd> file_;
  const std::vector<MemoryAccount*> accounts_;
  HostShare* const host_;
  HugePageMaker* const maker_;
  std::vector<MemoryGroups> groups_;  // per device; constant
  Sink* const sink_;
  metrics::ClientCounters* const counters_;  // per device

  mutable std::mutex mutex_;
  WindowAllocator host_allocator_;
  WindowAllocator device_allocator_;
  WindowAllocator constants_allocator_;
  AddressRanges addresses_;
  WindowExtent extent_;
  WindowExtent constants_extent_;
  std::atomic<uint64_t> reach_end_;  // released by PublishReach
  std::unordered_map<uint64_t, Allocation> allocations_;
  FreshMemory fresh_;
  uint64_t small_allocations_ = 0;  // that have pages of their own
  std::shared_ptr<SharedRange::Home> home_;  // once something has been shared
  uint64_t last_share_ = 0;
  std::vector<uint64_t> used_;  // per device
  std::vector<uint64_t> freed_;  // of used_: retired
  std::vector<uint64_t> limits_;  // per device
};

}  // namespace tutti::device::cpu
