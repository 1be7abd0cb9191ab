// Virtual memory management: which addresses are reserved, what memory there is, and what is mapped where.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cuda/types.h"

namespace tutti::gpu::strict {

// Thread-safe. Each function checks, has the true driver do it, and notes it; the returned status is the caller's.
class AddressRules {
 public:
  static AddressRules& Get();

  int Reserve(cuda::CUdeviceptr* out, size_t bytes, size_t alignment, cuda::CUdeviceptr wish, unsigned long long flags);
  int Free(cuda::CUdeviceptr address, size_t bytes);
  int Create(cuda::CUmemGenericAllocationHandle* out, size_t bytes, const cuda::CUmemAllocationProp* properties,
             unsigned long long flags);
  int Release(cuda::CUmemGenericAllocationHandle handle);
  int Export(void* out, cuda::CUmemGenericAllocationHandle handle, int type, unsigned long long flags);
  int Import(cuda::CUmemGenericAllocationHandle* out, void* descriptor, int type);
  int Map(cuda::CUdeviceptr address, size_t bytes, size_t offset, cuda::CUmemGenericAllocationHandle handle,
          unsigned long long flags);
  int Unmap(cuda::CUdeviceptr address, size_t bytes);
  int SetAccess(cuda::CUdeviceptr address, size_t bytes, const cuda::CUmemAccessDesc* list, size_t count);

  // Whether a copy or fill may reach these addresses; none: they are not reserved ones.
  std::optional<bool> Reaches(uint64_t address, uint64_t bytes, bool writes);

 private:
  struct Memory {
    uint64_t bytes = 0;
    int file = -1;  // that stands for it in other processes
  };
  struct Mapping {
    uint64_t bytes = 0;
    int access = 0;
  };
  using Mappings = std::map<uint64_t, Mapping>;
  Mappings::iterator EndOfWhole(Mappings::iterator first, uint64_t address, uint64_t bytes);
  void MakeRoomBelow(uint64_t address);

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> reserved_;  // address -> bytes
  std::map<uint64_t, Memory> memory_;  // by handle
  Mappings mappings_;
};

}  // namespace tutti::gpu::strict
