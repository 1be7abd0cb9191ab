// malloc and free in kernels: a heap in the client's window, made on first use. Its bookkeeping lies outside the
// window, where no kernel can corrupt it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cpu/memory/window_memory.h"

namespace tutti::device::cpu {

class DeviceHeap {
 public:
  DeviceHeap(WindowMemory* memory, uint32_t device) : memory_(memory), device_(device) {}

  // The size of the heap; no effect once it has been made.
  void SetLimit(uint64_t bytes);
  // 16-byte aligned; 0 if there is no room.
  uint64_t Allocate(uint64_t bytes);
  // Ignores addresses that were not allocated here (null, double free).
  void Release(uint64_t address);

 private:
  WindowMemory* const memory_;
  const uint32_t device_;
  std::mutex mutex_;
  uint64_t bytes_ = 8 << 20;  // CUDA's default of CU_LIMIT_MALLOC_HEAP_SIZE
  std::unique_ptr<WindowAllocator> allocator_;
  std::unordered_map<uint64_t, uint64_t> allocations_;  // address -> bytes
};

}  // namespace tutti::device::cpu
