// Allocates address ranges of a part of a window: best fit, merging neighbours when freed. Does not touch the memory
// itself. Not thread-safe (WindowMemory holds the lock).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"

namespace tutti::device {

class WindowAllocator {
 public:
  // From which end of a free range memory is taken.
  enum class Grows : uint8_t { kUp, kDown };
  // Sizes are rounded up to, and addresses are multiples of, `granularity` (a power of two). `bytes` may be 0: then
  // there are those that are given.
  WindowAllocator(uint64_t base, uint64_t bytes, uint64_t granularity, Grows grows = Grows::kUp);

  // The address of `bytes` aligned to `alignment` (a power of two), or nothing.
  std::optional<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  // Whether [address, address + bytes) was free: it is taken now. Both are multiples of the granularity.
  bool TakeAt(uint64_t address, uint64_t bytes);
  // Frees a range from Take, with the size that was requested. Returns the free range it is now part of.
  std::pair<uint64_t, uint64_t> Give(uint64_t address, uint64_t bytes);

  uint64_t RoundUp(uint64_t bytes) const { return AlignUp(bytes, granularity_); }

 private:
  void Insert(uint64_t address, uint64_t bytes);
  void Erase(std::map<uint64_t, uint64_t>::iterator range);

  const uint64_t granularity_;
  const Grows grows_;
  std::map<uint64_t, uint64_t> free_by_address_;  // address -> bytes
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  // bytes, address
};

}  // namespace tutti::device
