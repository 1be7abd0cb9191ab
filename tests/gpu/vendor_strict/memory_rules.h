// Memory that the driver gives by a pointer, and memory of the process that it is told of; what copies and fills may
// reach.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "cuda/types.h"

namespace tutti::gpu::strict {

// Thread-safe. As AddressRules.
class MemoryRules {
 public:
  static MemoryRules& Get();

  int Allocate(cuda::CUdeviceptr* out, size_t bytes);
  int Free(cuda::CUdeviceptr address);
  int AllocateHost(void** out, size_t bytes, unsigned flags);
  int FreeHost(void* pointer);
  int Register(void* pointer, size_t bytes, unsigned flags);
  int Unregister(void* pointer);
  int DevicePointer(cuda::CUdeviceptr* out, void* pointer, unsigned flags);

  // Pinned or registered.
  bool IsHost(uint64_t address);
  // 0, or why a copy that reaches these addresses is refused. `call` is for the log.
  int CheckCopy(const char* call, uint64_t address, uint64_t bytes, bool writes);
  // The same of a fill, which is for memory that the device reaches.
  int CheckFill(const char* call, uint64_t address, uint64_t bytes, uint64_t element);

 private:
  enum class Kind { kDevice, kHost, kRegistered };
  struct Range {
    uint64_t bytes;
    Kind kind;
  };
  // Shows a shared mapping of this process, all of it, to the true driver at the same addresses.
  struct Shown {
    uint64_t bytes = 0;
    int users = 0;
  };
  int Show(uint64_t address, uint64_t bytes);
  void Hide(uint64_t address);
  const std::pair<const uint64_t, Range>* Overlapping(uint64_t address, uint64_t bytes) const;

  std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;
  std::map<uint64_t, Shown> shown_;
};

}  // namespace tutti::gpu::strict
