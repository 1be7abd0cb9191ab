// How much of a device's memory is taken. One per device, shared by all Spaces. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::device::cpu {

class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t total_bytes) : total_bytes_(total_bytes) {}

  // Takes `bytes` if they fit; never overshoots, however many ask at once.
  bool Reserve(uint64_t bytes) {
    uint64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > total_bytes_ || used > total_bytes_ - bytes) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Release(uint64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  const uint64_t total_bytes_;
  std::atomic<uint64_t> used_bytes_{0};  // relaxed: a count, it orders nothing
};

}  // namespace tutti::device::cpu
