// Reserved address ranges and their mappings (cuMemAddressReserve, cuMemMap and their variants).
//
// The device maps physical memory (client/memory/physical_memory.h) where a program gives access to it; this process
// does not reach it there. A kernel's write where nothing is mapped, or without access, is a fault. It differs from a
// GPU: such a read yields zeros (copies and memsets are refused). A wish for an address is followed if it is free.
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

  Answer<uint64_t> Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish);
  // The whole range as it was reserved; INVALID_VALUE if something is mapped there.
  int Free(uint64_t address, uint64_t bytes);

  int Map(uint64_t address, uint64_t bytes, PhysicalMemory& memory);
  // Whole mappings only.
  int Unmap(uint64_t address, uint64_t bytes);
  int SetAccess(uint64_t address, uint64_t bytes, cuda::CUmemAccess_flags flags);
  Answer<cuda::CUmemAccess_flags> AccessOf(uint64_t address);

  // What the memory mapped at the address may be exported as; 0: nothing.
  unsigned long long HandleTypesAt(uint64_t address);
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

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> reservations_;  // address -> bytes
  Mappings mappings_;
};

}  // namespace tutti::client
