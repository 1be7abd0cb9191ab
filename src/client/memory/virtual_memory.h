// Reserved address ranges and their mappings (cuMemAddressReserve, cuMemMap and their variants).
//
// A reserved range is a part of the window whose pages are populated when touched; a mapping decides which physical
// memory's bytes they hold (client/memory/physical_memory.h). It differs from a GPU: a kernel that touches a reserved
// address without a mapping, or without access, is not caught (copies and memsets are). Since kernels could thus
// populate any page, the whole range counts as host memory of the client. A piece of memory has one mapping at a time.
// Address hints are ignored, which the driver may do as well.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "client/base/answer.h"
#include "client/memory/physical_memory.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;

// Thread-safe.
class VirtualMemory {
 public:
  static constexpr uint64_t kGranularity = PhysicalMemory::kGranularity;

  static VirtualMemory& Get();

  Answer<uint64_t> Reserve(uint64_t bytes, uint64_t alignment);
  // The whole range as it was reserved; INVALID_VALUE if something is mapped there.
  int Free(uint64_t address, uint64_t bytes);

  int Map(uint64_t address, uint64_t bytes, PhysicalMemory& memory);
  // Whole mappings only.
  int Unmap(uint64_t address, uint64_t bytes);
  int SetAccess(uint64_t address, uint64_t bytes, cuda::CUmemAccess_flags flags);
  Answer<cuda::CUmemAccess_flags> AccessOf(uint64_t address);

  // The memory mapped at the address, with one more reference.
  Answer<PhysicalMemory*> Retain(uint64_t address);
  // Drops a reference; the memory stays while it is mapped.
  void Release(PhysicalMemory& memory);
  // For a new session: nothing is reserved or mapped.
  void StartAgain();

 private:
  struct Mapping {
    PhysicalMemory* memory;
    cuda::CUmemAccess_flags access = 0;
    uint64_t end(uint64_t begin) const { return begin + memory->bytes(); }
  };
  using Mappings = std::map<uint64_t, Mapping>;

  // The contiguous mappings that cover [address, address + bytes); empty if there is a gap.
  std::pair<Mappings::iterator, Mappings::iterator> Exactly(uint64_t address, uint64_t bytes);
  bool Reserved(uint64_t address, uint64_t bytes) const;
  // Moves bytes of unmapped memory that still lie in the range to their homes.
  void Vacate(uint64_t address, uint64_t bytes);

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> reservations_;  // address -> bytes
  Mappings mappings_;
  std::map<uint64_t, PhysicalMemory*> resting_;  // by where their bytes lie: unmapped, still referenced
};

}  // namespace tutti::client
