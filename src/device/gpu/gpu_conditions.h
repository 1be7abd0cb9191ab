// The conditions of a client's conditional graph nodes: words of its window's host part, which its kernels write
// (ptx/condition_setter.h) and by which the server decides. A condition is named by its word's address.
//
// What a kernel writes is there when the kernel is done. A word that is not a condition is the client's all the same.
// Thread-safe; its lock comes after the Space's.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "device/gpu/gpu_memory.h"

namespace tutti::device::gpu {

class GpuConditions {
 public:
  // Asks for their memory with the first one. OUT_OF_MEMORY beyond wire::kMostConditions.
  Result<uint64_t> Create(GpuMemory& memory);
  // No later record may name it: false if none might have. What came before may go on until Erase.
  bool Retire(uint64_t condition);
  void Erase(uint64_t condition);
  // Whether a record may name it.
  bool Has(uint64_t condition) const;
  // 0 if there is none.
  uint32_t ValueOf(uint64_t condition) const;
  void Set(uint64_t condition, uint32_t value);

 private:
  uint32_t* WordOf(uint64_t condition) const;  // null: there is none

  mutable std::mutex mutex_;
  uint64_t begin_ = 0;  // the first one's address; 0: there is no memory yet
  uint32_t* words_ = nullptr;  // as this process has them
  uint32_t made_ = 0;  // words that have been one
  std::deque<uint64_t> free_;  // of these; the oldest is used first
  std::unordered_map<uint64_t, bool> conditions_;  // true: retired
};

}  // namespace tutti::device::gpu
