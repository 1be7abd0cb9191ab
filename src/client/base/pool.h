// Object pools behind the API's handles.
//
// A program may pass any word as a handle: null, freed, of another kind, invented. Each kind of object therefore lives
// in one reserved range of addresses, and a handle is valid if it is the address of a used slot in that range. Checking
// costs a subtraction, a multiplication and a load, takes no lock, and never reads unmapped memory: slots stay mapped,
// so a handle used after its object was destroyed gives an error (or, once the slot is reused, names the new object, as
// with any allocator; to make that rare, a slot is quarantined until kRest others have been freed after it).
//
// A pool is a constant-initialised global without a destructor: the library never destroys global state.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "base/lsan.h"

namespace tutti::client {

// Thread-safe. Construction and destruction of the objects themselves happen outside the pool's lock.
template <typename T, uint32_t kMax>
class Pool {
 public:
  constexpr Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A new object, or null if there are kMax of them or no memory.
  template <typename... Args>
  T* Create(Args&&... args) {
    Slot* slot = Take();
    if (slot == nullptr) return nullptr;
    T* object = new (slot->bytes) T(std::forward<Args>(args)...);
    slot->live.store(true, std::memory_order_release);
    return object;
  }

  // The object behind a handle; null if the handle is invalid.
  template <typename Handle>
  T* Find(Handle handle) const {
    const uintptr_t base = base_.load(std::memory_order_acquire);
    const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - base - offsetof(Slot, bytes);
    if (base == 0 || offset >= kMax * sizeof(Slot) || offset % sizeof(Slot) != 0) return nullptr;
    Slot* slot = reinterpret_cast<Slot*>(base + offset);
    return slot->live.load(std::memory_order_acquire) ? std::launder(reinterpret_cast<T*>(slot->bytes)) : nullptr;
  }

  // Invalidates the handle; true for exactly one of several concurrent callers, which must then call Delete.
  bool Retire(T* object) { return SlotOf(object)->live.exchange(false, std::memory_order_acq_rel); }

  // Destroys a retired object; its slot may be used again.
  void Delete(T* object) {
    object->~T();
    Slot* slot = SlotOf(object);
    std::lock_guard lock(mutex_);
    slot->next_free = 0;
    const uint32_t number = static_cast<uint32_t>(slot - slots()) + 1;
    if (last_free_ != 0) {
      slots()[last_free_ - 1].next_free = number;
    } else {
      first_free_ = number;
    }
    last_free_ = number;
    ++free_;
  }

 private:
  static constexpr uint32_t kRest = 64;

  struct Slot {
    std::atomic<bool> live;
    uint32_t next_free;  // 1 + index, 0: none
    alignas(T) std::byte bytes[sizeof(T)];
  };

  Slot* slots() const { return reinterpret_cast<Slot*>(base_.load(std::memory_order_relaxed)); }
  static Slot* SlotOf(T* object) {
    return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(object) - offsetof(Slot, bytes));
  }

  Slot* Take() {
    std::lock_guard lock(mutex_);
    if (base_.load(std::memory_order_relaxed) == 0 && !Map()) return nullptr;
    const bool fresh = used_ < kMax && free_ < kRest;
    if (fresh) return &slots()[used_++];
    if (first_free_ == 0) return nullptr;
    Slot* slot = &slots()[first_free_ - 1];
    first_free_ = slot->next_free;
    if (first_free_ == 0) last_free_ = 0;
    --free_;
    return slot;
  }

  bool Map() {
    void* memory =
        mmap(nullptr, kMax * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    HoldsPointers(memory, kMax * sizeof(Slot));
    base_.store(reinterpret_cast<uintptr_t>(memory), std::memory_order_release);
    return true;
  }

  std::mutex mutex_;
  std::atomic<uintptr_t> base_{0};
  uint32_t used_ = 0;
  uint32_t free_ = 0;
  uint32_t first_free_ = 0;
  uint32_t last_free_ = 0;
};

}  // namespace tutti::client
