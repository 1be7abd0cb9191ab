// The reserved addresses of a client's window, and what is mapped there. What the executor maps is its owner's affair
// (GpuMemory): this says what may be mapped, and what is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/common/window_allocator.h"
#include "device/gpu/shared_slab.h"

namespace tutti::device::gpu {

// Not thread-safe (GpuMemory holds the lock).
class ReservedPart {
 public:
  ReservedPart(uint64_t begin, uint64_t bytes);

  struct Mapping {
    std::shared_ptr<SharedMemory> memory;
    const SharedSlab* slab = nullptr;  // that; null: it is none of the device's
    bool writable = false;
  };
  using Mappings = std::map<uint64_t, Mapping>;  // by address

  // At `wish` if that is not 0 and the addresses are free.
  std::optional<uint64_t> Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish);
  // For an array: nothing may be mapped there. Small ones lie side by side.
  std::optional<uint64_t> ReserveForArray(uint64_t bytes);
  // Those that begin there, where nothing is mapped any more.
  void Free(uint64_t address);

  // Whether it may be mapped there: true, or false where it is, and its access alone can be changed.
  Result<bool> Check(uint64_t address, const std::shared_ptr<SharedMemory>& memory) const;
  void Insert(uint64_t address, Mapping mapping) { mappings_.insert_or_assign(address, std::move(mapping)); }
  // Takes the mappings there out. INVALID_VALUE unless they are whole and the addresses reserved.
  Result<Mappings> Take(uint64_t address, uint64_t bytes);
  Mappings TakeAll(uint64_t address);  // of those that begin there

  bool Overlaps(uint64_t address, uint64_t bytes) const {
    return address < begin_ + bytes_ && address + bytes > begin_;
  }
  // Whether memory of the device that may be written, if that is asked for, is mapped at all of these.
  bool Covers(uint64_t address, uint64_t bytes, bool writes) const;
  // The mapping that these lie in; null: there is none.
  const Mappings::value_type* Find(uint64_t address, uint64_t bytes) const;
  const Mappings& mappings() const { return mappings_; }

 private:
  bool InOneRange(uint64_t address, uint64_t bytes) const;
  void FreeArray(uint64_t address, uint64_t bytes);
  Mappings::const_iterator At(uint64_t address) const;

  const uint64_t begin_;
  const uint64_t bytes_;
  WindowAllocator allocator_;
  WindowAllocator of_small_arrays_;  // in slabs' lengths that are taken from the other one
  std::map<uint64_t, uint64_t> ranges_;  // reserved: address -> bytes
  std::map<uint64_t, uint64_t> arrays_;  // as well
  Mappings mappings_;
};

}  // namespace tutti::device::gpu
