#include "client/context/local_storage.h"

#include <vector>

namespace tutti::client {

// The entry of `key`, or a free one. Called with the lock held.
LocalStorage::Entry* LocalStorage::Claim(void* key) {
  const uint32_t used = used_.load(std::memory_order_relaxed);
  Entry* free = nullptr;
  for (uint32_t i = 0; i < used; ++i) {
    void* const held = entries_[i].key.load(std::memory_order_relaxed);
    if (held == key) return &entries_[i];
    if (held == nullptr && free == nullptr) free = &entries_[i];
  }
  if (free != nullptr) return free;
  if (used == entries_.size()) return nullptr;
  used_.store(used + 1, std::memory_order_release);
  return &entries_[used];
}

bool LocalStorage::Put(void* key, void* value, Destructor destructor) {
  if (key == nullptr) return false;
  std::lock_guard lock(mutex_);
  Entry* entry = Claim(key);
  if (entry == nullptr) return false;
  entry->value.store(value, std::memory_order_relaxed);
  entry->destructor = destructor;
  entry->key.store(key, std::memory_order_release);  // publishes the value to Get
  return true;
}

bool LocalStorage::Erase(void* key) {
  std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (key == nullptr || entry.key.load(std::memory_order_relaxed) != key) continue;
    entry.key.store(nullptr, std::memory_order_release);
    return true;
  }
  return false;
}

void LocalStorage::Clear(cuda::CUcontext context) {
  struct Ended {
    void* key;
    void* value;
    Destructor destructor;
  };
  std::vector<Ended> ended;
  {
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      void* const key = entry.key.exchange(nullptr, std::memory_order_acq_rel);
      if (key != nullptr) ended.push_back({key, entry.value.load(std::memory_order_relaxed), entry.destructor});
    }
  }
  for (const Ended& entry : ended) {  // without the lock: destructors call back into the library
    if (entry.destructor != nullptr) entry.destructor(context, entry.key, entry.value);
  }
}

}  // namespace tutti::client
