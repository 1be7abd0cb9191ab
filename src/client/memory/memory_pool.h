// Memory pools: stream-ordered allocation. The server frees in the order of a stream, so a pool here is a name with
// settings and counters; memory comes from the device and goes back to it.
#pragma once

#include <atomic>
#include <cstdint>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/context/stream.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Device;
struct Allocation;

// Thread-safe.
class MemoryPool {
 public:
  // `most_bytes`: the most it may have allocated at a time; 0: no limit but the device's. `number`: what names it to
  // processes that it is shared with; 0: none.
  MemoryPool(Device& device, uint64_t most_bytes, uint64_t number, bool imported)
      : device_(device), most_bytes_(most_bytes), number_(number), imported_(imported) {}

  static MemoryPool* Find(const void* handle) { return pool_.Find(handle); }
  // `shared`: it may be exported.
  static MemoryPool* Create(Device& device, uint64_t most_bytes = 0, bool shared = false);
  // Another process's: it gives no memory of its own.
  static MemoryPool* Import(Device& device, uint64_t number) { return pool_.Create(device, 0, number, true); }
  // The pool that belongs to the device itself.
  static MemoryPool* DefaultOf(Device& device);
  // The pool that cuMemAllocAsync uses; the default one unless set.
  static MemoryPool* CurrentOf(Device& device);
  static void SetCurrentOf(Device& device, MemoryPool* pool);
  // INVALID_VALUE for a device's default pool.
  static int Destroy(MemoryPool* pool);

  cuda::CUmemoryPool handle() { return reinterpret_cast<cuda::CUmemoryPool>(this); }
  Device& device() const { return device_; }
  uint64_t number() const { return number_; }
  bool imported() const { return imported_; }
  // Allocates; usable once the work now in the stream is done, or earlier.
  Answer<uint64_t> Allocate(Stream& stream, uint64_t bytes);
  // Frees memory of any pool, after the work in the stream. INVALID_VALUE if it is not pool memory.
  static int Free(Stream& stream, uint64_t address);

  int GetAttribute(cuda::CUmemPool_attribute attribute, void* value) const;
  int SetAttribute(cuda::CUmemPool_attribute attribute, const void* value);

 private:
  // Called when an allocation of a pool has been freed by any call. A no-op if the pool is gone.
  static void CountFreed(const Allocation& freed);

  static constinit Pool<MemoryPool, 4096> pool_;

  Device& device_;
  const uint64_t most_bytes_;
  const uint64_t number_;
  const bool imported_;
  std::atomic<int> reuse_[3] = {1, 1, 1};
  std::atomic<uint64_t> release_threshold_{0};
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> used_high_bytes_{0};
};

}  // namespace tutti::client
