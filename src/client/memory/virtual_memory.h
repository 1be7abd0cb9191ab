// Reserved ranges of addresses, and what is mapped where (cuMemAddressReserve, cuMemMap and their relatives).
//
// A reserved range is a part of the window whose pages come into being when they are touched. Mapping decides whose
// bytes they are (client/memory/physical_memory.h). Four things differ from a GPU: a kernel that touches a reserved
// address without a mapping, or without access, is not caught (copies and memsets are), so its pages could be made by
// whoever likes, and the whole range counts as host memory of the client; a piece of memory has one mapping at a time;
// and the addresses a program wishes for are not followed, as the driver may do, too.
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

  // What is mapped at the address, held once more.
  Answer<PhysicalMemory*> Retain(uint64_t address);
  // The holder lets go; the memory stays while it is mapped.
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

  // The mappings that make up [address, address + bytes) without a gap; an empty range if they do not.
  std::pair<Mappings::iterator, Mappings::iterator> Exactly(uint64_t address, uint64_t bytes);
  bool Reserved(uint64_t address, uint64_t bytes) const;
  // Bytes of unmapped memory that still lie in the range go home.
  void Vacate(uint64_t address, uint64_t bytes);

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> reservations_;  // address -> bytes
  Mappings mappings_;
  std::map<uint64_t, PhysicalMemory*> resting_;  // by where their bytes lie: unmapped, still held
};

}  // namespace tutti::client
