// The reserved addresses of a client's window, and what is mapped there: a part of the window of their own, in which
// nothing else lies. Where nothing is mapped there are read-only zeros, so that a kernel's write is its fault and
// touching a page costs no memory.
//
// Each mapping takes one of this process's limited number of mappings, so their number is bounded, for one client and
// for all. Not thread-safe (WindowMemory holds the lock).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/cpu/memory/shared_range.h"

namespace tutti::device::cpu {

class AddressRanges {
 public:
  // Of a part of the window that is closed (WindowExtent::Close).
  AddressRanges(uint64_t begin, uint64_t bytes);
  // The mappings go with the window.
  ~AddressRanges();

  // What is no longer mapped. To be dropped without the lock: whose it is may take its pages back.
  using Dropped = std::vector<std::shared_ptr<SharedRange>>;

  // At `wish` if that is not 0 and the addresses are free.
  std::optional<uint64_t> Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish);
  // Hides what is mapped in the range that begins at `address`, and frees it.
  void Free(uint64_t address, Dropped* dropped);

  // `file`: the memory's.
  Status Map(uint64_t address, const std::shared_ptr<SharedRange>& memory, int file, bool writable);
  Status Unmap(uint64_t address, uint64_t bytes, Dropped* dropped);

  bool Contains(uint64_t address) const { return address - begin_ < bytes_; }
  // Whether kernels may write all of this, which lies in one mapping.
  bool MayWrite(uint64_t address, uint64_t bytes) const;
  // Whether something is mapped there.
  bool Shows(uint64_t address) const { return MappingAt(address) != mappings_.end(); }
  // Whether it is that of a counter of another client's (SharedRange::has_counters), which may be written.
  bool ShowsCounter(uint64_t address) const;
  // Behind the last address that has ever been reserved.
  uint64_t end() const { return end_; }

 private:
  struct Mapping {
    std::shared_ptr<SharedRange> memory;
    bool writable = false;
  };
  using Mappings = std::map<uint64_t, Mapping>;
  Mappings::const_iterator MappingAt(uint64_t address) const;
  bool InOneRange(uint64_t address, uint64_t bytes) const;
  // The first mapping of [address, address + bytes) and the one behind the last; nothing if one sticks out.
  std::optional<std::pair<Mappings::iterator, Mappings::iterator>> Whole(uint64_t address, uint64_t bytes);

  const uint64_t begin_;
  const uint64_t bytes_;
  uint64_t end_;
  WindowAllocator allocator_;
  std::map<uint64_t, uint64_t> ranges_;  // reserved: address -> bytes
  Mappings mappings_;  // by address
};

}  // namespace tutti::device::cpu
