// Context-local storage: through one of the driver's hidden tables a runtime attaches a pointer of its own to a context
// and reads it in nearly every call (export_tables.h).
//
// Lookup is therefore lock-free: a linear scan of a short array of entries that are published once. A process holds one
// entry per copy of the runtime in it, so a handful.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "cuda/types.h"

namespace tutti::client {

// Thread-safe.
class LocalStorage {
 public:
  using Destructor = void (*)(cuda::CUcontext context, void* key, void* value);

  // Replaces an entry of the same key. False if there are too many keys.
  bool Put(void* key, void* value, Destructor destructor);
  bool Erase(void* key);
  // Null if there is none.
  void* Get(void* key) const {
    const uint32_t used = used_.load(std::memory_order_acquire);
    if (key == nullptr) return nullptr;  // the key of free entries
    for (uint32_t i = 0; i < used; ++i) {
      if (entries_[i].key.load(std::memory_order_acquire) == key)
        return entries_[i].value.load(std::memory_order_relaxed);
    }
    return nullptr;
  }
  // Removes everything, calling the destructors.
  void Clear(cuda::CUcontext context);

 private:
  struct Entry {
    std::atomic<void*> key{nullptr};  // null: free
    std::atomic<void*> value{nullptr};
    Destructor destructor = nullptr;
  };
  Entry* Claim(void* key);

  std::array<Entry, 64> entries_;
  std::atomic<uint32_t> used_{0};
  std::mutex mutex_;  // of writers
};

}  // namespace tutti::client
